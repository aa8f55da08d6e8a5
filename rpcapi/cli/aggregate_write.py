# SPDX-License-Identifier: Apache-2.0
"""Changes an aggregate with retries against concurrent changes."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

AggregateDocument = dict[str, Any]

NAMESPACE = "aggregate"
ATTEMPTS = 5


def get_aggregate(session: "Session", name: str) -> AggregateDocument | None:
    """Return an aggregate's document, None if there is none; a deleted one has the key ``deleted``."""
    try:
        return dict(session.call(session.scheduler.get_host_state, NAMESPACE, name).document)
    except errors.UnknownHost:
        return None


def check_hosts(session: "Session", hosts: Iterable[str]) -> None:
    """Raise UnknownHost unless each name is that of a provider or a service host that has reported."""
    for name in hosts:
        try:
            session.call(session.scheduler.get_host_state, "compute", name)
        except errors.UnknownHost:
            session.call(session.scheduler.get_host_state, "service", name)


def update_aggregate(
    session: "Session", name: str, change: Callable[[AggregateDocument | None], AggregateDocument]
) -> AggregateDocument:
    """Apply ``change`` to an aggregate's document (None: there is none), store the next version and return it.

    Of two documents of the same version the first is stored; the change is then repeated on that one. Raises
    Conflict when concurrent changes continue, or when its owner uses other than integer versions.
    """
    for _ in range(ATTEMPTS):
        document = get_aggregate(session, name)
        version = (document or {}).get("version", 0)
        if isinstance(version, str):
            raise errors.Conflict(
                what=f"Changing aggregate {name!r}",
                why=f"its owner set the non-integer version {version!r}: change it at its owner",
            )
        new_document = change(None if document is None or "deleted" in document else document)
        if new_document == document:
            return new_document
        update = {**new_document, "version": version + 1}
        session.call(session.scheduler.update_aggregates, [{**update, "id": name}])
        if get_aggregate(session, name) == update:
            return update
    raise errors.Conflict(what=f"Changing aggregate {name!r}", why="too many concurrent changes; retry")
