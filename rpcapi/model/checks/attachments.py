# SPDX-License-Identifier: Apache-2.0
"""Volumes and ports that a server is to be attached to."""

from collections.abc import Mapping
from typing import Any

from rpcapi.model import names
from rpcapi.model.checks.text import check_keys, check_list, check_text, is_integer, refuse, shown
from rpcapi.model.inventory import MAX_AMOUNT

MAX_VOLUMES = 64
MAX_PORTS = 64
VOLUME_KEYS = ("pool", "size_gb", "group")
PORT_KEYS = ("physnet", "segment", "group")


def check(volumes: Any, ports: Any, groups: Mapping[str, Any]) -> None:
    """Raise InvalidSpec or InvalidName for what is no volume and no port, or whose group is not among ``groups``."""
    check_list("the volumes", volumes, MAX_VOLUMES)
    for told in volumes:
        _volume(told, groups)
    check_list("the ports", ports, MAX_PORTS)
    for told in ports:
        check_keys("a port", told, PORT_KEYS)
        for key in ("physnet", "segment"):
            check_text(f"{key} of a port", told.get(key))
        _group("a port", told.get("group"), groups)


def _volume(told: Any, groups: Mapping[str, Any]) -> None:
    check_keys("a volume", told, VOLUME_KEYS)
    pool, size = told.get("pool"), told.get("size_gb")
    if pool is not None:
        if not isinstance(pool, str):
            raise refuse(f"the pool of a volume must be the name of a provider, not {shown(pool)}")
        names.canonical(pool)
    if size is not None and not is_integer(size, 1, MAX_AMOUNT):
        raise refuse(f"size_gb of a volume must be an integer from 1 up, not {shown(size)}")
    if (size is None) != (told.get("group") is None):
        raise refuse("a volume that is made needs both its size_gb and the group that asks for its space")
    if size is None and pool is None:
        raise refuse("a volume that exists needs the pool that it is on")
    _group("a volume", told.get("group"), groups)


def _group(what: str, group: Any, groups: Mapping[str, Any]) -> None:
    if group is not None and (not isinstance(group, str) or group not in groups):
        raise refuse(f"{what} has the group {shown(group)}, which is not asked for")
