# SPDX-License-Identifier: Apache-2.0
"""The error tree: every class has a code of its own, a sentence, and says when it is raised."""

import pytest
from oslo_messaging._drivers import common as wire
from oslo_serialization import jsonutils

from rpcapi import errors

TREE = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, Exception)]


def test_it_is_one_tree():
    assert len(TREE) > 30
    assert all(issubclass(cls, errors.GanttError) for cls in TREE)


def test_codes_are_words_that_no_two_classes_share():
    assert all("code" in vars(cls) and cls.code.islower() for cls in TREE)
    assert len({cls.code for cls in TREE}) == len(TREE)


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_each_says_when_it_is_raised(cls):
    assert cls.__doc__.startswith("Raised when ")


def over_the_bus(error):
    """Return what the caller's side makes of an error that a service raised."""
    try:
        raise error
    except errors.GanttError as raised:
        sent = wire.serialize_remote_exception((type(raised), raised, raised.__traceback__))
    return wire.deserialize_remote_exception(sent, ["rpcapi.errors"])


ARRIVING = [
    errors.InvalidName(name=("host", 3), why="it is no pair"),
    errors.NoValidHost(reason="3 ram, 1 disk", reasons={"ram": 3, "disk": 1}),
    errors.DeadlinePassed(request_id="req-1", late=1.25),
    errors.InvalidRequest(why="100% {braces}"),
    errors.UnknownHost("A sentence that was made elsewhere"),
]


@pytest.mark.parametrize("error", ARRIVING, ids=lambda error: error.code)
def test_an_error_arrives_typed_with_its_sentence_and_its_facts(error):
    got = over_the_bus(error)
    assert isinstance(got, type(error))
    assert got.sentence == error.sentence
    assert got.kwargs == jsonutils.loads(jsonutils.dumps(error.kwargs))
    # Then another hop: conductor passes on what the scheduler said.
    again = over_the_bus(got)
    assert isinstance(again, type(error))
    assert again.sentence == error.sentence
