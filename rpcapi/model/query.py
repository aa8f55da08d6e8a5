# SPDX-License-Identifier: Apache-2.0
"""The hint ``query``: which hosts may take a server, as Nova's JsonFilter is told, parsed once into a checked tree."""

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rpcapi import errors
from rpcapi.model import names

HINT = "query"
MAX_BYTES = 8 * 1024  # as JSON text
MAX_DEPTH = 8  # lists within lists
MAX_PARTS = 100  # operators and operands together
MAX_TEXT = 255
MAX_NUMBER = 2**63 - 1

ORDERS = ("<", ">", "<=", ">=")
COMPARISONS = ("=", "in", *ORDERS)
CONNECTIVES = ("not", "or", "and")


class Kind(StrEnum):
    """What a variable holds, which decides what it can be compared with."""

    NUMBER = "number"  # one a host
    FACT = "fact"  # any JSON value, few different ones among all hosts
    NAME = "name"  # of a host or a node: only ever equal to texts
    ADDRESS = "address"  # the same, and the texts are IP addresses


# Attributes of Nova's HostState by the names that its queries use.
ATTRIBUTES = {
    **dict.fromkeys(("vcpus_total", "vcpus_used", "num_instances", "num_io_ops", "failed_builds"), Kind.NUMBER),
    **dict.fromkeys(("total_usable_ram_mb", "free_ram_mb"), Kind.NUMBER),
    **dict.fromkeys(("total_usable_disk_gb", "free_disk_mb", "disk_mb_used"), Kind.NUMBER),
    **dict.fromkeys(("hypervisor_type", "hypervisor_version", "cpu_info", "supported_instances"), Kind.FACT),
    **dict.fromkeys(("host", "nodename", "hypervisor_hostname"), Kind.NAME),
    "host_ip": Kind.ADDRESS,
}
# What is open: "$metrics.<name>" is a number, "$facts.<key>" whatever the host says there.
OPEN = {"metrics": Kind.NUMBER, "facts": Kind.FACT}

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that the query itself holds."""

    value: Value


@dataclass(frozen=True, slots=True)
class Variable:
    """What is looked up for each host: ``path`` are the keys, the first of ATTRIBUTES or OPEN."""

    kind: Kind
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An operator and its operands; no operand: nothing was asked, and every host meets it."""

    operator: str
    operands: tuple["Operand", ...]


Operand = Literal | Variable | Term
EVERYTHING = Term("and", ())


def parse(told: Any) -> Term:
    """Return the query that the hint holds, as JSON text or as the list itself; EVERYTHING where it asks nothing.

    Raises InvalidSpec for what is no such list, for an unknown operator or variable, for a comparison that no host
    could make, and for what is beyond the bounds.
    """
    read = _read(told)
    if read is None or read in ([], {}, ""):
        return EVERYTHING
    if not isinstance(read, list):
        raise _refused(f"it must be a list that begins with an operator, not {_short(read)}")
    return _Reader().term(read, 1)


def _read(told: Any) -> Any:
    if isinstance(told, list) and len(told) == 1 and isinstance(told[0], str):
        told = told[0]  # an API that knows lists of texts alone
    try:
        text = told if isinstance(told, str) else json.dumps(told)
        if len(text.encode()) > MAX_BYTES:
            raise _refused(f"it takes more than {MAX_BYTES} bytes")
        return json.loads(text) if text.strip() else None
    except RecursionError:
        raise _refused(f"it is nested more than {MAX_DEPTH} deep") from None
    except (TypeError, ValueError) as why:
        raise _refused(f"it is no JSON: {why}") from None


class _Reader:
    """Reads one query, counting its parts."""

    def __init__(self) -> None:
        self._parts = 0

    def term(self, told: Sequence[Any], depth: int) -> Term:
        if not told:
            return EVERYTHING
        if depth > MAX_DEPTH:
            raise _refused(f"it is nested more than {MAX_DEPTH} deep")
        self._count(1)
        operator = told[0]
        if not isinstance(operator, str) or operator not in (*COMPARISONS, *CONNECTIVES):
            known = ", ".join((*COMPARISONS, *CONNECTIVES))
            raise _refused(f"there is no operator {_short(operator)}; known: {known}")
        # As in Nova, null and the empty text are no operands.
        given = [each for each in told[1:] if each is not None and each != ""]
        operands = tuple(self._operand(each, depth) for each in given)
        if operator in COMPARISONS:
            _check_comparable(operator, operands)
        else:
            _check_truths(operator, operands)
        return Term(operator, operands)

    def _operand(self, told: Any, depth: int) -> Operand:
        if isinstance(told, list):
            return self.term(told, depth + 1)
        self._count(1)
        if isinstance(told, str):
            if len(told) > MAX_TEXT:
                raise _refused(f"the text {_short(told)} is longer than {MAX_TEXT} characters")
            return _variable(told) if told.startswith("$") else Literal(told)
        if isinstance(told, int | float) and abs(told) <= MAX_NUMBER:
            return Literal(told)
        raise _refused(f"{_short(told)} is neither text, a number up to {MAX_NUMBER}, a variable nor a list")

    def _count(self, more: int) -> None:
        self._parts += more
        if self._parts > MAX_PARTS:
            raise _refused(f"it has more than {MAX_PARTS} operators and operands")


def _variable(text: str) -> Variable:
    path = tuple(text[1:].split("."))
    if path[0] == "metrics" and len(path) > 1:
        path = ("metrics", ".".join(path[1:]))  # names of metrics have dots of their own
    kind = ATTRIBUTES.get(path[0]) or OPEN.get(path[0])
    # Below a number or a name there is nothing to look up.
    deep = path[0] in OPEN or kind is Kind.FACT
    if kind is None or not all(path) or (len(path) > 1 and not deep) or (len(path) == 1 and path[0] in OPEN):
        known = ", ".join(f"${name}" for name in (*sorted(ATTRIBUTES), "metrics.<name>", "facts.<key>"))
        raise _refused(f"there is no variable {_short(text)}; known: {known}")
    return Variable(kind, path)


def _check_comparable(operator: str, operands: Sequence[Operand]) -> None:
    kinds = {each.kind for each in operands if isinstance(each, Variable)}
    literals = [each.value for each in operands if isinstance(each, Literal)]
    texts = [value for value in literals if isinstance(value, str)]
    named = kinds & {Kind.NAME, Kind.ADDRESS}
    if named:
        variables = sum(isinstance(each, Variable) for each in operands)
        if operator in ORDERS or variables > 1 or len(texts) != len(operands) - 1:
            raise _refused(f"names and addresses of hosts can only be compared by = and in, with texts: {operator!r}")
        for text in texts:
            _check_named(Kind.ADDRESS in named, text)
    elif operator in ORDERS and texts and (Kind.NUMBER in kinds or len(texts) < len(literals)):
        raise _refused(f"{operator!r} cannot order text and numbers: {_short(texts[0])}")


def _check_named(address: bool, text: str) -> None:
    try:
        ipaddress.ip_address(text) if address else names.canonical(text)
    except ValueError:
        raise _refused(f"{_short(text)} is no IP address") from None
    except errors.InvalidName as why:
        raise _refused(why.sentence) from None


def _check_truths(operator: str, operands: Sequence[Operand]) -> None:
    if any(isinstance(each, Variable) and each.kind in (Kind.NAME, Kind.ADDRESS) for each in operands):
        raise _refused(f"names and addresses of hosts are neither true nor false: {operator!r}")


def _refused(why: str) -> errors.InvalidSpec:
    return errors.InvalidSpec(why=f"the hint 'query' cannot be used: {why}")


def _short(told: Any) -> str:
    text = repr(told)
    return text if len(text) <= 60 else text[:57] + "..."
