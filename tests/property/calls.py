# SPDX-License-Identifier: Apache-2.0
"""Strategies for calls of exposed methods: arguments of the right types, mutated, among garbage."""

import inspect
import typing
from typing import Any

from hypothesis import strategies as st

from rpcapi import objects
from rpcapi.objects.base import ColumnField, GanttObject
from rpcapi.serializer import GanttSerializer

TEXTS = st.sampled_from(
    (
        *("", "h0", "h0/n", "compute", "service", "default", "VCPU", "CUSTOM_A", "null", "-1", "req-1"),
        *("a b", "a\nb", "\0", "\ud800", "\u0661", "x" * 300, "7a1f0000-0000-4000-8000-000000000001"),
    )
)
NUMBERS = st.sampled_from([0, 1, 2, -1, 7, 2**31, 2**63, 10**400, 0.5, -0.0, 1e300, float("inf"), float("nan")])
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
GARBAGE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
SPEC = GanttSerializer().serialize_entity(None, objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 512}))


NAMES = st.sampled_from(["h0", "h0/n", "default", "7a1f0000-0000-4000-8000-000000000001", "VCPU"])
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


def field_values(field: Any) -> st.SearchStrategy[Any]:
    """Return values of the type of a field; a column has one element, as all columns of a batch are equally long."""
    auto_type = getattr(field, "AUTO_TYPE", None)
    if isinstance(field, ColumnField):
        return st.tuples(st.one_of(*(BY_TYPE.get(kind, st.none()) for kind in auto_type.kinds))).map(list)
    return FITTING.get(type(field).__name__.removesuffix("Field"), AMOUNTS)


def primitives(kind: type[GanttObject]) -> st.SearchStrategy[Any]:
    """Return primitives of an object: valid requests, or fields of the right types, with up to two fields replaced."""
    names = sorted(kind.fields)
    fitting = st.fixed_dictionaries({name: field_values(kind.fields[name]) for name in names})
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
        st.one_of(st.just({}), mutations),
        rarely(kind.VERSION, "1.x", 7),  # a newer version is requested from a conductor, of which there is none
    )


def rarely(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    """Return one of the others in about one of ten cases."""
    return st.integers(0, 99).map(lambda number: others[number % len(others)] if 50 <= number < 60 else usual)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return values for an annotation, one in four of them garbage."""
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    fitting = []
    for kind in kinds:
        runtime = typing.get_origin(kind) or kind
        if isinstance(runtime, type) and issubclass(runtime, GanttObject):
            fitting.append(primitives(runtime))
        elif runtime is str:
            fitting.append(NAMES | TEXTS)
        elif runtime in (int, float):
            fitting.append(SMALL | NUMBERS)
        elif runtime in (list, tuple):
            fitting.append(st.lists(GARBAGE, max_size=3))
        elif runtime is dict:
            fitting.append(st.dictionaries(TEXTS, GARBAGE, max_size=3))
    return st.one_of(*fitting, *fitting, *fitting, GARBAGE)


def calls_of(method: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return messages that call an exposed method."""
    function = inspect.unwrap(method)
    hints = typing.get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[2:]
    required = {entry.name: values_of(hints.get(entry.name)) for entry in parameters if entry.default is entry.empty}
    optional = {entry.name: values_of(hints.get(entry.name)) for entry in parameters if entry.name not in required}
    arguments = st.fixed_dictionaries(required, optional=optional)
    odd = st.dictionaries(st.sampled_from(["self", "ctxt", "method", *required]), GARBAGE, max_size=3)
    return st.builds(
        lambda args, version: {"method": function.__name__, "args": args, "version": version},
        st.one_of(arguments, arguments, arguments, arguments, odd),
        rarely("1.0", "1.99", "9.9", None),
    )
