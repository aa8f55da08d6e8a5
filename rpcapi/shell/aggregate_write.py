# SPDX-License-Identifier: Apache-2.0
"""Changing an aggregate that others may change at the same time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.shell.session import Session

Document = dict[str, Any]

NAMESPACE = "aggregate"
ATTEMPTS = 5


def read(session: "Session", name: str) -> Document | None:
    """Return what is recorded of an aggregate, None where there is nothing; one that was deleted says so."""
    try:
        return dict(session.ask(session.scheduler.get_host_state, NAMESPACE, name).document)
    except errors.UnknownHost:
        return None


def write(session: "Session", name: str, change: Callable[[Document | None], Document]) -> Document:
    """Tell what ``change`` makes of an aggregate (None: there is none) as its next version, and return it.

    Of two that are told of the same version the first is taken: what is recorded then is changed once more. Raises
    Conflict where others go on changing it, or where its owner has an order of its own.
    """
    for _ in range(ATTEMPTS):
        held = read(session, name)
        version = (held or {}).get("version", 0)
        if isinstance(version, str):
            raise errors.Conflict(
                what=f"Changing aggregate {name!r}", why=f"its owner has given it version {version!r}: change it there"
            )
        changed = change(None if held is None or "deleted" in held else held)
        if changed == held:
            return changed
        wanted = {**changed, "version": version + 1}
        session.ask(session.scheduler.update_aggregates, [{**wanted, "id": name}])
        if read(session, name) == wanted:
            return wanted
    raise errors.Conflict(what=f"Changing aggregate {name!r}", why="others change it at the same time; try again")
