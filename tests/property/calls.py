# SPDX-License-Identifier: Apache-2.0
"""Strategies for messages to exposed methods: arguments of the right types, mutated, among garbage."""

import inspect
import typing
from typing import Any

from hypothesis import strategies as st

from rpcapi import objects
from rpcapi.objects.base import GanttObject, GanttObjectRegistry, ListField
from rpcapi.serializer import GanttSerializer
from tests.support.scheduler.workers import node_report

HOST, NODE, PARTITION = "alpha", "alpha/node0", "default"
INSTANCES = ("7a1f0000-0000-4000-8000-000000000001", "7a1f0000-0000-4000-8000-000000000002")
REQUEST = "req-1"
RESOURCES = {"VCPU": 1, "MEMORY_MB": 512}
AHEAD = 30.0  # seconds from a call to its deadline

TEXTS = st.sampled_from(
    (
        *("", HOST, NODE, "compute", "service", PARTITION, "VCPU", "CUSTOM_A", "null", "-1", REQUEST),
        *("a b", "a\nb", "\0", "\ud800", "\u0661", "x" * 300, INSTANCES[0]),
    )
)
NUMBERS = st.sampled_from([0, 1, 2, -1, 7, 2**31, 2**63, 10**400, 0.5, -0.0, 1e300, float("inf"), float("nan")])
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
GARBAGE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
SPEC = GanttSerializer().serialize_entity(None, objects.RequestSpec.of(resources=RESOURCES))
OWNER = {
    **{"type": "INSTANCE", "project": "project", "user": "user", "request_id": REQUEST},
    **dict.fromkeys(("group_id", "group_policy", "group_max_per_host")),
}
KINDS = [versions[0] for _name, versions in sorted(GanttObjectRegistry.obj_classes().items())]

NAMES = st.sampled_from([HOST, NODE, PARTITION, INSTANCES[0], "VCPU"])
SMALL = st.sampled_from([1, 0, 2, 100])
AMOUNTS = st.dictionaries(NAMES, SMALL | st.dictionaries(st.just("VCPU"), SMALL, max_size=1), max_size=2)
FITTING = {
    "String": NAMES,
    "Integer": SMALL,
    "Float": SMALL,
    "Boolean": st.booleans(),
    "List": st.lists(NAMES, max_size=1),
}
BY_TYPE = {str: NAMES, int: SMALL, float: SMALL, bool: st.booleans(), dict: AMOUNTS, list: st.lists(NAMES, max_size=2)}
# Values that a field, an argument, or an element of one accepts, by its name: calls that reach the domain need them.
INSTANCE = st.sampled_from(INSTANCES)
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("uuids", "consumers", "consumer"), INSTANCE),
    **dict.fromkeys(("host", "destinations"), st.just(HOST)),
    **dict.fromkeys(("name", "names"), st.sampled_from([NODE, NODE, HOST])),
    "partition": st.just(PARTITION),
    "attempts": st.sampled_from([1, 1, 2]),
    "outcomes": st.sampled_from(["active", "refused", "failed", "gone"]),
    "states": st.sampled_from(["prepared", "confirmed"]),
    "candidates": st.just(NODE),
    "allocations": st.just({NODE: RESOURCES}),
    "replaces": st.sampled_from([None, 1]),
    "namespace": st.sampled_from(["compute", "aggregate", "service"]),
    "nodes": st.just({NODE: node_report()}),
    "request_id": st.just(REQUEST),
    "owners": st.just(OWNER),
    "writer": st.sampled_from(["gantt", "gantt-compute"]),
    "specs": st.just([SPEC]),
    "object_versions": st.just({kind.__name__: kind.VERSION for kind in KINDS}),
}


def mostly(usual: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return values of the other strategy in about one of ten cases; ``one_of`` has no weights."""
    return st.integers(0, 99).flatmap(lambda number: other if 50 <= number < 60 else usual)


def named(name: str, fitting: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return mostly the values for the name, if there are any."""
    return mostly(BY_NAME[name], fitting) if name in BY_NAME else fitting


def field_values(name: str, field: Any) -> st.SearchStrategy[Any]:
    """Return values of the type of a field; a column has one element, as all columns of a batch are equally long."""
    auto_type = getattr(field, "AUTO_TYPE", None)
    if isinstance(field, ListField):
        elements = named(name, st.one_of(*(BY_TYPE.get(kind, st.none()) for kind in auto_type.kinds)))
        if list in auto_type.kinds:
            elements = st.tuples(elements).map(list)
        return st.tuples(elements).map(list)
    if field.__class__.__name__ == "ObjectField":
        (kind,) = (kind for kind in KINDS if kind.__name__ == field._type._obj_name)
        return primitives(kind)
    return named(name, FITTING.get(type(field).__name__.removesuffix("Field"), AMOUNTS))


def primitives(kind: type[GanttObject]) -> st.SearchStrategy[Any]:
    """Return primitives of an object: valid requests, or fields of the right types, with up to two fields replaced."""
    names = sorted(kind.fields)
    fitting = st.fixed_dictionaries({name: field_values(name, kind.fields[name]) for name in names})
    valid = st.just(SPEC["gantt_object.data"]) if kind is objects.RequestSpec else fitting
    mutations = st.dictionaries(st.sampled_from(names), GARBAGE | st.lists(TEXTS, max_size=2), max_size=2)
    return st.builds(
        lambda data, mutation, version: {
            **SPEC,
            "gantt_object.name": kind.__name__,
            "gantt_object.version": version,
            "gantt_object.data": {**data, **mutation},
        },
        valid,
        mostly(st.just({}), mutations),
        rarely(kind.VERSION, "1.x", 7, "1.99", "9.0"),
    )


def rarely(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Return one of the other values in about one of ten cases."""
    return mostly(st.just(usual), st.sampled_from(others))


def values_of(name: str, hint: Any) -> st.SearchStrategy[Any]:
    """Return values for an argument with an annotation, some of them garbage."""
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    fitting = []
    for kind in kinds:
        runtime = typing.get_origin(kind) or kind
        if isinstance(runtime, type) and issubclass(runtime, GanttObject):
            fitting.append(primitives(runtime))
        elif runtime is str:
            fitting.append(named(name, NAMES | TEXTS))
        elif runtime in (int, float):
            fitting.append(named(name, SMALL | NUMBERS))
        elif runtime in (list, tuple):
            fitting.append(st.lists(named(name, GARBAGE), min_size=1, max_size=2) | st.lists(GARBAGE, max_size=3))
        elif runtime is dict:
            fitting.append(named(name, st.dictionaries(TEXTS, GARBAGE, max_size=3)))
        elif runtime is Any:
            fitting.append(st.sampled_from(KINDS).flatmap(primitives))
    return mostly(st.one_of(*fitting), GARBAGE)


def calls_of(method: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return messages that call an exposed method."""
    function = inspect.unwrap(method)
    hints = typing.get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[2:]
    values = {entry.name: values_of(entry.name, hints.get(entry.name)) for entry in parameters}
    required = {entry.name: values.pop(entry.name) for entry in parameters if entry.default is entry.empty}
    arguments = st.fixed_dictionaries(required, optional=values)
    odd = st.dictionaries(st.sampled_from(["self", "ctxt", "method", *required]), GARBAGE, max_size=3)
    return st.builds(
        lambda args, version: {"method": function.__name__, "args": args, "version": version},
        mostly(arguments, odd),
        rarely("1.0", "1.99", "9.9", None),
    )


# Messages that call nothing.
MALFORMED = st.dictionaries(st.sampled_from(["method", "args", "version", "namespace"]), GARBAGE, max_size=4)
# Contexts without a deadline, which the caller adds.
CONTEXTS = mostly(
    st.just({"request_id": REQUEST, "project_id": "project", "user_id": "user"}),
    st.fixed_dictionaries({"request_id": GARBAGE, "deadline": GARBAGE, "user_id": GARBAGE}),
)
