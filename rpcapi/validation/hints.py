# SPDX-License-Identifier: Apache-2.0
"""Validation of scheduler hints. Unknown hints are passed to plugins unchanged."""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from oslo_utils import uuidutils

from rpcapi.resources import query
from rpcapi.validation.text import abbreviate, check_mapping, check_size, check_text, invalid_spec

MAX_HINTS = 50
MAX_HINT_BYTES = 16 * 1024  # all hints as JSON
MAX_INSTANCES = 100  # per hint
DEFAULT_CIDR = "/24"  # as in Nova
INSTANCE_HINTS = ("same_host", "different_host")  # hints with uuids of instances


def check(hints: Any) -> None:
    """Raise InvalidSpec for too many or too large hints, or an invalid value of a known hint."""
    check_mapping("the hints", hints, MAX_HINTS)
    for key in hints:
        check_text("key of a hint", key)
    check_size("the hints", hints, MAX_HINT_BYTES)
    for key, check_hint in CHECKS.items():
        if key in hints:
            check_hint(hints)


def single_value(value: Any) -> Any:
    """Unwrap a hint that the caller may have put into a list of one element, as Nova's API does."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def named_instances(hints: Mapping[str, Any]) -> set[str]:
    return {instance for hint in INSTANCE_HINTS for instance in as_list(hints.get(hint, []))}


def _instances(key: str) -> Callable[[Mapping[str, Any]], None]:
    def check_instances(hints: Mapping[str, Any]) -> None:
        uuids = as_list(hints[key])
        if len(uuids) > MAX_INSTANCES:
            raise invalid_spec(f"hint {key!r} may contain at most {MAX_INSTANCES} instances, got {len(uuids)}")
        for instance_uuid in uuids:
            if not uuidutils.is_uuid_like(instance_uuid):
                raise invalid_spec(f"hint {key!r} must contain uuids of instances, not {abbreviate(instance_uuid)}")

    return check_instances


def _near(hints: Mapping[str, Any]) -> None:
    address, cidr = single_value(hints.get("build_near_host_ip")), single_value(hints.get("cidr", DEFAULT_CIDR))
    if not isinstance(address, str):
        raise invalid_spec(f"hint 'build_near_host_ip' must be the IP address of a host, not {abbreviate(address)}")
    try:
        ipaddress.ip_address(address)
        valid = isinstance(cidr, str) and cidr.startswith("/")
        ipaddress.ip_network(f"{address}{cidr}", strict=False)
    except ValueError:
        valid = False
    if not valid:
        raise invalid_spec(
            f"{abbreviate(address)} with cidr {abbreviate(cidr)} is not a network; "
            "use an IP address and a cidr such as '/24'"
        )


def _cidr(hints: Mapping[str, Any]) -> None:
    if "build_near_host_ip" not in hints:
        raise invalid_spec("hint 'cidr' needs hint 'build_near_host_ip'")


CHECKS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    **{key: _instances(key) for key in INSTANCE_HINTS},
    "build_near_host_ip": _near,
    "cidr": _cidr,
    query.HINT: lambda hints: query.parse(hints[query.HINT]),
}
