# SPDX-License-Identifier: Apache-2.0
"""The error classes: unique codes, docstrings, and transport over the bus."""

import re
import string

import pytest
from oslo_messaging._drivers import common as wire
from oslo_serialization import jsonutils

from rpcapi import errors

TREE = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]


def test_all_errors_derive_from_gantt_error():
    assert len(TREE) > 30
    assert all(issubclass(cls, errors.GanttError) for cls in TREE)


# Callers, metrics and records have them: a class that is renamed keeps its code.
CODES = """
    answer_too_large bad_configuration caller_refused claim_closed claim_conflict claim_ended claim_error
    conflict deadline_passed error group_contradicted group_in_use
    host_identity host_in_use host_is_up incompatible_object instance_conflict invalid_count invalid_fact
    invalid_host_state invalid_name invalid_request invalid_spec invalid_stats malformed_object newer_record
    no_valid_host not_claimed not_found not_ready not_replicated overloaded plugin_failed quota_exceeded
    request_too_large request_too_old store_full store_unavailable unavailable unknown_decision unknown_driver
    unknown_flavor unknown_host unknown_image unknown_instance unknown_method unknown_migration
    unknown_namespace unknown_partition unknown_resource_class unknown_trait version_conflict writer_refused
    zone_conflict
"""


def test_codes_are_stable_and_unique():
    assert sorted(cls.code for cls in TREE) == CODES.split()


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_docstring_says_when_the_error_is_raised(cls):
    assert cls.__doc__.startswith("Raised when ")


def tree(cls, level=1):
    """Yield (level, name) of the class and its subclasses."""
    yield level, cls.__name__
    for subclass in cls.__subclasses__():
        if subclass.__module__ == errors.__name__:
            yield from tree(subclass, level + 1)


def test_docstring_of_the_module_has_the_tree():
    lines = errors.__doc__.partition("::\n\n")[2].splitlines()
    levels = [(len(line) - len(line.lstrip())) // 4 for line in lines]
    listed = [(level, name) for level, line in zip(levels, lines, strict=True) for name in re.findall(r"\w+", line)]
    assert listed == list(tree(errors.GanttError))


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_template_uses_declared_fields(cls):
    declared = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", ())}
    assert {name for _, name, _, _ in string.Formatter().parse(cls.template) if name} <= declared


def test_a_peer_sets_nothing_but_fields():
    error = errors.UnknownHost("A message rendered by a peer", name="h", code="forged", template="forged", other=1)
    assert (error.name, error.code, error.template) == ("h", "unknown_host", errors.UnknownHost.template)
    assert not hasattr(error, "other")


def test_fields_are_attributes():
    error = errors.QuotaExceeded(project="p", resource="VCPU", limit=4, used=3, requested=2)
    assert (error.project, error.resource, error.limit, error.used, error.requested) == ("p", "VCPU", 4, 3, 2)


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
    errors.UnknownHost.of_message("A message rendered by a peer"),
]


@pytest.mark.parametrize("error", ARRIVING, ids=lambda error: error.code)
def test_error_arrives_with_its_type_message_and_kwargs(error):
    received = over_the_bus(error)
    assert isinstance(received, type(error))
    assert received.code == error.code
    assert received.sentence == error.sentence
    assert received.kwargs == jsonutils.loads(jsonutils.dumps(error.kwargs))
    # A second hop: the conductor forwards an error of the scheduler.
    forwarded = over_the_bus(received)
    assert isinstance(forwarded, type(error))
    assert forwarded.sentence == error.sentence
