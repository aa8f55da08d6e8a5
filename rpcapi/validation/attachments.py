# SPDX-License-Identifier: Apache-2.0
"""Validation of volumes and ports to attach to a server."""

from collections.abc import Mapping
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.text import abbreviate, check_keys, check_list, check_text, invalid_spec, is_integer

MAX_VOLUMES = 64
MAX_PORTS = 64
VOLUME_KEYS = ("pool", "size_gb", "group")
PORT_KEYS = ("physnet", "segment", "group")


def check(volumes: Any, ports: Any, groups: Mapping[str, Any]) -> None:
    """Raise InvalidSpec or InvalidName for a malformed volume or port, or a group that is not in ``groups``."""
    check_list("the volumes", volumes, MAX_VOLUMES)
    for entry in volumes:
        _volume(entry, groups)
    check_list("the ports", ports, MAX_PORTS)
    for entry in ports:
        check_keys("a port", entry, PORT_KEYS)
        for key in ("physnet", "segment"):
            check_text(f"{key} of a port", entry.get(key))
        _group("a port", entry.get("group"), groups)


def _volume(volume: Any, groups: Mapping[str, Any]) -> None:
    check_keys("a volume", volume, VOLUME_KEYS)
    pool, size = volume.get("pool"), volume.get("size_gb")
    if pool is not None:
        if not isinstance(pool, str):
            raise invalid_spec(f"the pool of a volume must be a provider name, not {abbreviate(pool)}")
        names.canonical(pool)
    if size is not None and not is_integer(size, 1, MAX_AMOUNT):
        raise invalid_spec(f"size_gb of a volume must be an integer of at least 1, not {abbreviate(size)}")
    if (size is None) != (volume.get("group") is None):
        raise invalid_spec("a new volume needs size_gb and the request group that requests its space")
    if size is None and pool is None:
        raise invalid_spec("an existing volume needs the name of its pool")
    _group("a volume", volume.get("group"), groups)


def _group(label: str, group: Any, groups: Mapping[str, Any]) -> None:
    if group is not None and (not isinstance(group, str) or group not in groups):
        raise invalid_spec(f"{label} names group {abbreviate(group)}, which is not in the request")
