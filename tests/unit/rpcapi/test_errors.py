# SPDX-License-Identifier: Apache-2.0
"""The error classes: unique codes, docstrings, and transport over the bus."""

import pytest
from oslo_messaging._drivers import common as wire
from oslo_serialization import jsonutils

from rpcapi import errors

TREE = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]


def test_all_errors_derive_from_gantt_error():
    assert len(TREE) > 30
    assert all(issubclass(cls, errors.GanttError) for cls in TREE)


def test_codes_are_unique():
    assert all("code" in vars(cls) and cls.code.islower() for cls in TREE)
    assert len({cls.code for cls in TREE}) == len(TREE)


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_docstring_says_when_the_error_is_raised(cls):
    assert cls.__doc__.startswith("Raised when ")


def over_the_bus(error):
    """Return an error of a service as it is delivered to the caller."""
    try:
        raise error
    except errors.GanttError as raised:
        sent = wire.serialize_remote_exception((type(raised), raised, raised.__traceback__))
    return wire.deserialize_remote_exception(sent, ["rpcapi.errors"])


ARRIVING = [
    errors.InvalidName(name=("host", 3), why="it is not a pair"),
    errors.NoValidHost(reason="3 ram, 1 disk", reasons={"ram": 3, "disk": 1}),
    errors.DeadlinePassed(request_id="req-1", late=1.25),
    errors.InvalidRequest(why="100% {braces}"),
    errors.UnknownHost("A message rendered by a peer"),
]


@pytest.mark.parametrize("error", ARRIVING, ids=lambda error: error.code)
def test_error_arrives_with_its_type_message_and_kwargs(error):
    received = over_the_bus(error)
    assert isinstance(received, type(error))
    assert received.sentence == error.sentence
    assert received.kwargs == jsonutils.loads(jsonutils.dumps(error.kwargs))
    # A second hop: the conductor forwards an error of the scheduler.
    forwarded = over_the_bus(received)
    assert isinstance(forwarded, type(error))
    assert forwarded.sentence == error.sentence
