# SPDX-License-Identifier: Apache-2.0
"""Rules of scheduler hints. Unknown hints are passed to plugins unchanged."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from rpcapi.resources import query
from rpcapi.validation.instances import canonical_uuid, is_uuid_like
from rpcapi.validation.rules import anything, limited, list_of, mapping, text
from rpcapi.validation.text import abbreviate, invalid_spec

MAX_HINTS = 50
MAX_HINT_BYTES = 16 * 1024  # all hints as JSON
MAX_INSTANCES = 100  # per hint
DEFAULT_CIDR = "/24"  # as in Nova
INSTANCE_HINTS = ("same_host", "different_host")
GROUP_HINT = "group"

_ALL = limited(mapping(text, anything, MAX_HINTS), MAX_HINT_BYTES)


def check(path: str, hints: Any) -> None:
    _ALL(path, hints)
    for key in INSTANCE_HINTS:
        _INSTANCES(f"{path}.{key}", as_list(hints.get(key, [])))
    group = single_value(hints.get(GROUP_HINT))
    if GROUP_HINT in hints and not is_uuid_like(group):
        raise invalid_spec(f"{path}.{GROUP_HINT} must be the uuid of a server group, not {abbreviate(group)}")
    if "build_near_host_ip" in hints or "cidr" in hints:
        _check_near(hints)
    if query.HINT in hints:
        query.parse(hints[query.HINT])


def single_value(value: Any) -> Any:
    """Unwrap a hint in a list of one element, which Nova's API allows."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def canonical(hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked hints with canonical uuids of instances, without the server group."""
    return {
        key: _canonical(value) if key in INSTANCE_HINTS else value for key, value in hints.items() if key != GROUP_HINT
    }


def _canonical(value: Any) -> Any:
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return canonical_uuid(value) if isinstance(value, str) else value


def named_instances(hints: Mapping[str, Any]) -> set[str]:
    return {instance for hint in INSTANCE_HINTS for instance in as_list(hints.get(hint, []))}


def named_group(hints: Mapping[str, Any]) -> str | None:
    """Return the canonical uuid of the server group in checked hints."""
    return canonical_uuid(single_value(hints[GROUP_HINT])) if GROUP_HINT in hints else None


def _check_instance(path: str, value: Any) -> None:
    if not is_uuid_like(value):
        raise invalid_spec(f"{path} must be the uuid of an instance, not {abbreviate(value)}")


_INSTANCES = list_of(_check_instance, MAX_INSTANCES)


def _check_near(hints: Mapping[str, Any]) -> None:
    if "build_near_host_ip" not in hints:
        raise invalid_spec("hint 'cidr' needs hint 'build_near_host_ip'")
    address, cidr = single_value(hints["build_near_host_ip"]), single_value(hints.get("cidr", DEFAULT_CIDR))
    try:
        valid = isinstance(address, str) and isinstance(cidr, str) and cidr.startswith("/")
        ipaddress.ip_address(address)
        ipaddress.ip_network(f"{address}{cidr}", strict=False)
    except ValueError:
        valid = False
    if not valid:
        raise invalid_spec(
            f"hint 'build_near_host_ip' {abbreviate(address)} with cidr {abbreviate(cidr)} is not a network; "
            "use an IP address and a cidr such as '/24'"
        )
