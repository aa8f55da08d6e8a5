# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates, with retries after concurrent changes."""

from collections.abc import Callable, Iterable
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session

AggregateDocument = dict[str, Any]

NAMESPACE = "aggregate"
ATTEMPTS = 5


def get_aggregate(session: Session, name: str) -> AggregateDocument | None:
    """Return an aggregate's document or None; the document of a deleted aggregate has the key ``deleted``."""
    try:
        return dict(session.get_state(NAMESPACE, name).document)
    except errors.UnknownHost:
        return None


def check_hosts(session: Session, hosts: Iterable[str]) -> None:
    """Raise UnknownHost unless each name is a known provider or service host."""
    for name in hosts:
        try:
            session.get_state("compute", name)
        except errors.UnknownHost:
            session.get_state("service", name)


def update_aggregate(
    session: Session,
    name: str,
    change: Callable[[AggregateDocument | None], AggregateDocument],
    *,
    force: bool = False,
) -> AggregateDocument:
    """Apply ``change`` to an aggregate's document (None: none exists); store and return the next version.

    The store keeps the first of two documents with the same version, so the change is repeated on it. Raises Conflict
    if concurrent changes continue, or for non-integer versions; ZoneConflict unless ``force``.
    """
    for _ in range(ATTEMPTS):
        document = get_aggregate(session, name)
        version = (document or {}).get("version", 0)
        if isinstance(version, str):
            raise errors.Conflict(
                what=f"Changing aggregate {name!r}",
                why=f"its owner versions it with the non-integer {version!r}: change it at its owner",
            )
        new_document = change(None if document is None or "deleted" in document else document)
        if new_document == document:
            return new_document
        update = {**new_document, "version": version + 1}
        session.call(session.scheduler.update_aggregates, [{**update, "id": name}], force=force)
        if get_aggregate(session, name) == update:
            return update
    raise errors.Conflict(what=f"Changing aggregate {name!r}", why="too many concurrent changes; retry")
