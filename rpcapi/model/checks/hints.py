# SPDX-License-Identifier: Apache-2.0
"""Scheduler hints: those that gantt knows must make sense, all others travel to plugins as they are."""

import ipaddress
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi.model import query
from rpcapi.model.checks.text import check_mapping, check_size, check_text, refuse, shown

MAX_HINTS = 50
MAX_HINT_BYTES = 16 * 1024  # all hints as JSON
MAX_INSTANCES = 100  # named by same_host, and by different_host
DEFAULT_CIDR = "/24"  # as Nova's


def check(hints: Any) -> None:
    """Raise InvalidSpec for hints that are too many, too large, or not understood."""
    check_mapping("the hints", hints, MAX_HINTS)
    for key in hints:
        check_text("key of a hint", key)
    check_size("its hints", hints, MAX_HINT_BYTES)
    for key, known in KNOWN.items():
        if key in hints:
            known(hints)


def first(value: Any) -> Any:
    """Return a hint's one value: a caller may give it in a list of one, as Nova's API does."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def listed(value: Any) -> list[Any]:
    """Return the values of a hint that takes one or many."""
    return value if isinstance(value, list) else [value]


def _instances(key: str) -> Callable[[Mapping[str, Any]], None]:
    def check_instances(hints: Mapping[str, Any]) -> None:
        given = listed(hints[key])
        if len(given) > MAX_INSTANCES:
            raise refuse(f"hint {key!r} names {len(given)} instances; at most {MAX_INSTANCES} are looked up")
        for each in given:
            try:
                good = isinstance(each, str) and bool(uuid.UUID(each))
            except ValueError:
                good = False
            if not good:
                raise refuse(f"hint {key!r} takes the uuids of instances, not {shown(each)}")

    return check_instances


def _near(hints: Mapping[str, Any]) -> None:
    address, cidr = first(hints.get("build_near_host_ip")), first(hints.get("cidr", DEFAULT_CIDR))
    if not isinstance(address, str):
        raise refuse(f"hint 'build_near_host_ip' takes the address of a host, not {shown(address)}")
    try:
        ipaddress.ip_address(address)
        good = isinstance(cidr, str) and cidr.startswith("/")
        ipaddress.ip_network(f"{address}{cidr}", strict=False)
    except ValueError:
        good = False
    if not good:
        raise refuse(
            f"{shown(address)} with cidr {shown(cidr)} is no network; an address and '/' with a length make one"
        )


def _cidr(hints: Mapping[str, Any]) -> None:
    if "build_near_host_ip" not in hints:
        raise refuse("hint 'cidr' says how near; 'build_near_host_ip' is missing, which says to what")


def _query(hints: Mapping[str, Any]) -> None:
    query.parse(hints[query.HINT])


KNOWN: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "same_host": _instances("same_host"),
    "different_host": _instances("different_host"),
    "build_near_host_ip": _near,
    "cidr": _cidr,
    query.HINT: _query,
}
