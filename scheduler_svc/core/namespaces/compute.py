# SPDX-License-Identifier: Apache-2.0
"""Types and bounds of reported facts, metrics and NUMA cells: one bad value would make a filter fail."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rpcapi.resources.numa import cpu_sets
from rpcapi.resources.query import MAX_NUMBER

MAX_TEXT = 255  # characters
MAX_DEPTH = 16  # nesting of lists and objects in a fact without a type of its own
MAX_VERSION = 2**31 - 1  # as in Nova's database
MAX_ADDRESS_BITS = 128
MAX_PAGE_KB = 2**30
MAX_INSTANCE_TYPES = 256
MAX_CORES = 1024  # cores per NUMA cell
MAX_THREADS = 64  # CPUs per core


class ValueType(NamedTuple):
    """Type of a reported value: its description for error messages, and its test."""

    allowed: str
    is_valid: Callable[[Any], bool]


def integer(least: int, most: int) -> ValueType:
    return ValueType(
        f"an integer from {least} to {most}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most,
    )


def number(least: int, most: int) -> ValueType:
    return ValueType(
        f"a number from {least} to {most}",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most,
    )


def text(most: int = MAX_TEXT) -> ValueType:
    return ValueType(
        f"a text of at most {most} characters", lambda value: isinstance(value, str) and len(value) <= most
    )


def array(element: ValueType, least: int, most: int) -> ValueType:
    return ValueType(
        f"a list of {least if least == most else f'{least} to {most}'} elements, each {element.allowed}",
        lambda value: (
            isinstance(value, (list, tuple)) and least <= len(value) <= most and all(map(element.is_valid, value))
        ),
    )


def mapping(key: ValueType, value_type: ValueType) -> ValueType:
    return ValueType(
        f"an object of {value_type.allowed}, by {key.allowed}",
        lambda value: (
            isinstance(value, Mapping)
            and all(key.is_valid(name) and value_type.is_valid(element) for name, element in value.items())
        ),
    )


def record(fields: Mapping[str, ValueType], *, required: bool = False) -> ValueType:
    """Return the type of JSON objects with these fields. Other fields may have any fact."""
    described = ", ".join(f"{name}: {field.allowed}" for name, field in fields.items())
    return ValueType(
        f"an object with {described}",
        lambda value: (
            isinstance(value, Mapping)
            and (not required or fields.keys() <= value.keys())
            and all(fields.get(name, ANY_FACT).is_valid(element) for name, element in value.items())
        ),
    )


def _is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    if isinstance(value, (list, tuple, Mapping)):
        elements = value.values() if isinstance(value, Mapping) else value
        return depth > 0 and all(_is_plain(element, depth - 1) for element in elements)
    return value is None or isinstance(value, (str, bool)) or _NUMBER.is_valid(value)


def _is_cpu_set(value: Any) -> bool:
    try:
        cpu_sets.parse(value)
    except (AttributeError, ValueError):
        return False
    return True


def _is_page_size(value: Any) -> bool:
    is_short_number = isinstance(value, str) and len(value) <= 10 and value.isascii() and value.isdecimal()
    return is_short_number and 0 < int(value) <= MAX_PAGE_KB


_NUMBER = number(-MAX_NUMBER, MAX_NUMBER)
_COUNT = integer(0, MAX_NUMBER)
_CPU = integer(0, cpu_sets.MAX_CPU)
_CPU_SET = ValueType("a list of CPUs such as '0-3,8'", _is_cpu_set)
_PAGE_SIZE = ValueType("page size in kB", _is_page_size)
# Type of facts that only a flavor, a query or a plugin may name.
ANY_FACT = ValueType(f"JSON of at most {MAX_DEPTH} levels, with numbers up to {MAX_NUMBER}", _is_plain)
METRIC = _NUMBER
# Facts that built-in filters and weighers read. Null means not reported.
FACTS: Mapping[str, ValueType] = {
    "hypervisor_type": text(),
    "hypervisor_version": integer(0, MAX_VERSION),
    "supported_instances": array(array(text(), 3, 3), 0, MAX_INSTANCE_TYPES),
    "cpu_info": record({"maxphysaddr": record({"bits": integer(0, MAX_ADDRESS_BITS)})}),
    "location": text(),
}
# NUMA cell; see rpcapi.resources.numa.cells.HostCell.as_dict.
CELL = record(
    {
        "id": _CPU,
        "path": text(),
        "socket": _CPU,
        "cores": array(array(_CPU, 0, MAX_THREADS), 0, MAX_CORES),
        "shared": _CPU_SET,
        "threads": integer(1, MAX_THREADS),
        "pinned": _CPU_SET,
        "pages": mapping(_PAGE_SIZE, array(_COUNT, 2, 2)),
    },
    required=True,
)


def refuse_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the invalid facts by name, each with a description of the allowed type."""
    return {
        name: kind.allowed
        for name, value in facts.items()
        if value is not None and not (kind := FACTS.get(name, ANY_FACT)).is_valid(value)
    }
