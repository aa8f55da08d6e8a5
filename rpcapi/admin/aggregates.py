# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates, with retries after concurrent changes, and the availability zones that they assign."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources import names
from rpcapi.validation.instances import canonical_uuid

AggregateDocument = dict[str, Any]

NAMESPACE = "aggregate"
ATTEMPTS = 5
ZONE = "availability_zone"  # metadata key that makes an aggregate an availability zone


def get_aggregate(session: Session, name: str) -> AggregateDocument | None:
    """Return the document or None; a deleted aggregate's document has the key ``deleted``."""
    try:
        return dict(session.get_state(NAMESPACE, canonical_uuid(name)).document)
    except errors.UnknownHost:
        return None


def check_hosts(session: Session, hosts: Iterable[str]) -> None:
    for name in hosts:
        try:
            session.get_state("compute", name)
        except errors.UnknownHost:
            session.get_state("service", name)


def update_aggregate(
    session: Session, name: str, change: Callable[[AggregateDocument | None], AggregateDocument], *, force: bool = False
) -> AggregateDocument:
    """Apply ``change`` to the aggregate's document (None if absent); store and return the next version.

    Of two documents with one version the store keeps the first, so the loser repeats its change. Raises Conflict after
    ATTEMPTS tries, or for a non-integer version; ZoneConflict unless ``force``.
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


class ZonesByHost:
    """Zones that aggregates assign to hosts and nodes."""

    def __init__(self, aggregates: Iterable[Mapping[str, Any]]) -> None:
        self._zones: dict[str, set[str]] = {}
        for document in aggregates:
            zone = document.get("metadata", {}).get(ZONE)
            if zone is not None and "deleted" not in document:
                for host in document["hosts"]:
                    self._zones.setdefault(host, set()).add(zone)

    def of(self, name: str, document: Mapping[str, Any]) -> list[str]:
        """Return the zones of the aggregates of a node and its service host, otherwise the reported zone."""
        zones = self._zones.get(name, set()) | self._zones.get(names.host_of(name), set())
        reported = document.get(ZONE)
        return sorted(zones) or ([] if reported is None else [reported])
