# SPDX-License-Identifier: Apache-2.0
"""Hosts on which a change of an aggregate makes earlier decisions stale."""

from collections.abc import Mapping
from typing import Any

NAMESPACE = "aggregate"


def touched(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> set[str]:
    """Return the hosts that join or leave the aggregate, or all its hosts if its metadata changed."""
    old_members, new_members = _members(before), _members(after)
    if _metadata(before) != _metadata(after):
        return old_members | new_members
    return old_members ^ new_members


def _members(document: Mapping[str, Any] | None) -> set[str]:
    hosts = (document or {}).get("hosts")
    return {name for name in hosts if isinstance(name, str)} if isinstance(hosts, list) else set()


def _metadata(document: Mapping[str, Any] | None) -> Any:
    return (document or {}).get("metadata") or {}
