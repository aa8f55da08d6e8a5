# SPDX-License-Identifier: Apache-2.0
"""Parser of the scheduler hint ``query``, from Nova's JsonFilter."""

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rpcapi import errors
from rpcapi.resources import names

HINT = "query"
MAX_BYTES = 8 * 1024  # Length of the JSON text.
MAX_DEPTH = 8  # of nested lists
MAX_PARTS = 100  # operators and operands
MAX_TEXT = 255
MAX_NUMBER = 2**63 - 1

ORDERS = ("<", ">", "<=", ">=")
COMPARISONS = ("=", "in", *ORDERS)
CONNECTIVES = ("not", "or", "and")
IGNORED = (None, "")  # operands ignored by Nova


class TermType(StrEnum):
    """Type of a variable, which determines the allowed comparisons."""

    NUMBER = "number"
    FACT = "fact"  # any JSON value; hosts have few distinct values
    NAME = "name"  # of a host or node; only equal to strings
    ADDRESS = "address"  # IP address; only equal to strings


# Attributes of Nova's HostState.
ATTRIBUTES = {
    **dict.fromkeys(("vcpus_total", "vcpus_used", "num_instances", "num_io_ops", "failed_builds"), TermType.NUMBER),
    **dict.fromkeys(("total_usable_ram_mb", "free_ram_mb"), TermType.NUMBER),
    **dict.fromkeys(("total_usable_disk_gb", "free_disk_mb", "disk_mb_used"), TermType.NUMBER),
    **dict.fromkeys(("hypervisor_type", "hypervisor_version", "cpu_info", "supported_instances"), TermType.FACT),
    **dict.fromkeys(("host", "nodename", "hypervisor_hostname"), TermType.NAME),
    "host_ip": TermType.ADDRESS,
}
# Prefixes of variables: "$metrics.<name>" and "$facts.<key>".
DYNAMIC_VARIABLES = {"metrics": TermType.NUMBER, "facts": TermType.FACT}

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class Variable:
    """Value of each host; ``path`` begins with a key of ATTRIBUTES or DYNAMIC_VARIABLES."""

    kind: TermType
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    operator: str
    operands: tuple["Operand", ...]


Operand = Literal | Variable | Term
EVERYTHING = Term("and", ())


def parse(hint: Any) -> Term:
    """Parse JSON text or a list; an empty query becomes EVERYTHING. Raises InvalidSpec."""
    decoded = _decode(hint)
    if decoded is None or decoded in ([], {}, ""):
        return EVERYTHING
    if not isinstance(decoded, list):
        raise _invalid_query(f"it must be a list starting with an operator, not {_abbreviate(decoded)}")
    if _count_parts(decoded, 1) > MAX_PARTS:
        raise _invalid_query(f"it may have at most {MAX_PARTS} operators and operands")
    return _term(decoded)


def _decode(hint: Any) -> Any:
    if isinstance(hint, list) and len(hint) == 1 and isinstance(hint[0], str):
        hint = hint[0]  # some APIs pass a hint only as a list of strings
    try:
        text = hint if isinstance(hint, str) else json.dumps(hint)
        if len(text.encode()) > MAX_BYTES:
            raise _invalid_query(f"it may take at most {MAX_BYTES} bytes")
        return json.loads(text) if text.strip() else None
    except RecursionError:
        raise _invalid_query(f"it may be nested at most {MAX_DEPTH} levels deep") from None
    except (TypeError, ValueError) as why:
        raise _invalid_query(f"it is not valid JSON: {why}") from None


def _count_parts(item: Any, depth: int) -> int:
    if not isinstance(item, list):
        return item not in IGNORED
    if item and depth > MAX_DEPTH:
        raise _invalid_query(f"it may be nested at most {MAX_DEPTH} levels deep")
    return bool(item) + sum(_count_parts(argument, depth + 1) for argument in item[1:])


def _term(items: Sequence[Any]) -> Term:
    if not items:
        return EVERYTHING
    operator = items[0]
    if not isinstance(operator, str) or operator not in (*COMPARISONS, *CONNECTIVES):
        operators = ", ".join((*COMPARISONS, *CONNECTIVES))
        raise _invalid_query(f"unknown operator {_abbreviate(operator)}; known: {operators}")
    operands = tuple(_operand(argument) for argument in items[1:] if argument not in IGNORED)
    if operator in COMPARISONS:
        _check_comparable(operator, operands)
    else:
        _check_truth_values(operator, operands)
    return Term(operator, operands)


def _operand(operand: Any) -> Operand:
    if isinstance(operand, list):
        return _term(operand)
    if isinstance(operand, str):
        if len(operand) > MAX_TEXT:
            raise _invalid_query(f"a string may have at most {MAX_TEXT} characters, got {_abbreviate(operand)}")
        return _variable(operand) if operand.startswith("$") else Literal(operand)
    if isinstance(operand, int | float) and abs(operand) <= MAX_NUMBER:
        return Literal(operand)
    raise _invalid_query(f"{_abbreviate(operand)} is not a string, a number up to {MAX_NUMBER}, a variable or a list")


def _variable(text: str) -> Variable:
    path = tuple(text[1:].split("."))
    if path[0] == "metrics" and len(path) > 1:
        path = ("metrics", ".".join(path[1:]))  # metric names may contain dots
    kind = ATTRIBUTES.get(path[0]) or DYNAMIC_VARIABLES.get(path[0])
    deep = path[0] in DYNAMIC_VARIABLES or kind is TermType.FACT
    if (
        kind is None
        or not all(path)
        or (len(path) > 1 and not deep)
        or (len(path) == 1 and path[0] in DYNAMIC_VARIABLES)
    ):
        variables = ", ".join(f"${name}" for name in (*sorted(ATTRIBUTES), "metrics.<name>", "facts.<key>"))
        raise _invalid_query(f"unknown variable {_abbreviate(text)}; known: {variables}")
    return Variable(kind, path)


def _check_comparable(operator: str, operands: Sequence[Operand]) -> None:
    kinds = {operand.kind for operand in operands if isinstance(operand, Variable)}
    literals = [operand.value for operand in operands if isinstance(operand, Literal)]
    texts = [value for value in literals if isinstance(value, str)]
    name_kinds = kinds & {TermType.NAME, TermType.ADDRESS}
    if name_kinds:
        variables = sum(isinstance(operand, Variable) for operand in operands)
        if operator in ORDERS or variables > 1 or len(texts) != len(operands) - 1:
            raise _invalid_query(
                f"host names and addresses can only be compared with strings, by = or in, not {operator!r}"
            )
        for text in texts:
            _check_name_or_address(TermType.ADDRESS in name_kinds, text)
    elif operator in ORDERS and texts and (TermType.NUMBER in kinds or len(texts) < len(literals)):
        raise _invalid_query(f"{operator!r} cannot compare strings with numbers: {_abbreviate(texts[0])}")


def _check_name_or_address(address: bool, text: str) -> None:
    try:
        ipaddress.ip_address(text) if address else names.canonical(text)
    except ValueError:
        raise _invalid_query(f"{_abbreviate(text)} is not an IP address") from None
    except errors.InvalidName as why:
        raise _invalid_query(why.sentence) from None


def _check_truth_values(operator: str, operands: Sequence[Operand]) -> None:
    if any(isinstance(operand, Variable) and operand.kind in (TermType.NAME, TermType.ADDRESS) for operand in operands):
        raise _invalid_query(f"host names and addresses are not truth values and cannot be operands of {operator!r}")


def _invalid_query(why: str) -> errors.InvalidSpec:
    return errors.InvalidSpec(why=f"hint 'query': {why}")


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
