# SPDX-License-Identifier: Apache-2.0
"""What a change of an aggregate's document means to claims: for whom decisions from before no longer hold."""

from collections.abc import Mapping
from typing import Any

NAMESPACE = "aggregate"


def touched(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> set[str]:
    """Return the names that join or leave; where something else is said of the members, the names of all.

    A name may be a service host, a provider, or nobody's yet. None: there is no such document.
    """
    was, will_be = _members(before), _members(after)
    if _said(before) != _said(after):
        return was | will_be
    return was ^ will_be


def _members(document: Mapping[str, Any] | None) -> set[str]:
    hosts = (document or {}).get("hosts")
    return {name for name in hosts if isinstance(name, str)} if isinstance(hosts, list) else set()


def _said(document: Mapping[str, Any] | None) -> Any:
    return (document or {}).get("metadata") or {}
