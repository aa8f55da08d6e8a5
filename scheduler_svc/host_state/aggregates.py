# SPDX-License-Identifier: Apache-2.0
"""Writer of aggregates: whole documents, replicated to every partition."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.validation.instances import canonical_uuid
from rpcapi.validation.text import TEXT, abbreviate, is_text
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.core.table.aggregates import ZONE
from scheduler_svc.host_state import zone_changes
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.store.aggregates import NAMESPACE
from scheduler_svc.store.documents import is_same
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import check_document
from scheduler_svc.store.protocols.host_state import HostStateStore

MAX_AGGREGATES = 200  # per call
ATTEMPTS = 10  # attempts to write one document despite concurrent writers

AggregateDocument = dict[str, Any]
# Function from the current document ({} if none) to the new document, or to None to delete it.
DocumentUpdate = Callable[[AggregateDocument], AggregateDocument | None]


class AggregateWriter:
    """Writes aggregates to every partition, unless their ``version`` is not greater than the stored one."""

    def __init__(self, partitions: OpenPartitions, namespace: Namespace) -> None:
        self._partitions = partitions
        self._namespace = namespace

    def update(self, payloads: Sequence[Any], *, force: bool = False) -> None:
        """Create or replace aggregates {"id", "name", "hosts", "metadata", "version"}; "hosts" and id or name required.

        Raises InvalidRequest, InvalidName, InvalidHostState or, unless ``force``, ZoneConflict before any change. After
        StoreUnavailable some partitions may be updated, and the caller must retry.
        """
        if len(payloads) > MAX_AGGREGATES:
            raise errors.InvalidRequest(
                why=f"a call may contain at most {MAX_AGGREGATES} aggregates, got {len(payloads)}; split it"
            )
        documents: dict[str, AggregateDocument] = {}
        for payload in payloads:
            name, document = self._read(payload)
            if name in documents:
                raise errors.InvalidRequest(why=f"the call contains aggregate {name!r} twice")
            documents[name] = document
        self._apply({name: _replace_if_later(name, document) for name, document in documents.items()}, force=force)

    def delete(self, name: names.ResourceName, version: int | str | None = None, *, force: bool = False) -> None:
        """Delete an aggregate if it exists.

        With a ``version`` a tombstone remains, so that a delayed older update cannot recreate it. Raises InvalidName,
        InvalidHostState, ZoneConflict and StoreUnavailable like ``update``.
        """
        canonical_name = canonical_uuid(names.canonical(name))
        if version is None:
            self._apply({canonical_name: lambda _current: None}, force=force)
            return
        tombstone: AggregateDocument = {"hosts": [], "deleted": True, "version": version}
        self._namespace.check_document(canonical_name, tombstone)
        self._apply({canonical_name: _replace_if_later(canonical_name, tombstone)}, force=force)

    def _read(self, payload: Any) -> tuple[str, AggregateDocument]:
        identity = (payload.get("id") or payload.get("name")) if isinstance(payload, Mapping) else None
        if not isinstance(identity, str):
            raise errors.InvalidRequest(why="an aggregate must be a mapping with an 'id' or a 'name'")
        document = {key: value for key, value in payload.items() if key != "id" and value is not None}
        name = canonical_uuid(names.canonical(identity))
        if "deleted" in document:
            raise errors.InvalidRequest(
                why=f"aggregate {name!r} must not have key 'deleted'; delete it with delete_aggregate"
            )
        if isinstance(document.get("hosts"), list):
            document["hosts"] = list(dict.fromkeys(map(names.canonical, document["hosts"])))
        self._namespace.check_document(name, document)
        check_document(NAMESPACE, document)
        zone = document.get("metadata", {}).get(ZONE)
        if zone is not None and not is_text(zone):
            why = f"metadata.{ZONE} must be {TEXT}, not {abbreviate(zone)}; remove the key to end the zone"
            raise errors.InvalidHostState(name=name, namespace=NAMESPACE, why=why)
        return name, document

    def _apply(self, updates: Mapping[str, DocumentUpdate], *, force: bool) -> None:
        stores = [partition.store for partition in self._partitions]
        last_error: errors.StoreUnavailable | None = None
        affects_zones = False
        reasons: list[str] = []
        for store in stores:
            try:
                changes = _zone_changes(store, updates)
                affects_zones |= bool(changes)
                reasons += zone_changes.conflicts(store, changes) if changes and not force else ()
            except errors.StoreUnavailable as error:
                last_error = error
        if last_error is not None and affects_zones and not force:
            raise last_error  # a partition whose servers are not known
        if reasons:
            raise errors.ZoneConflict(why="; ".join(dict.fromkeys(reasons)))
        for store in stores:
            for name, update in updates.items():
                try:
                    _write(store, name, update)
                except errors.StoreUnavailable as error:
                    last_error = error
        if last_error is not None:
            raise last_error


def _zone_changes(store: Store, updates: Mapping[str, DocumentUpdate]) -> dict[str, AggregateDocument]:
    """Return the new documents if they may change the zones of hosts, otherwise {}; raises StoreUnavailable."""
    current = {name: store.find_state(NAMESPACE, name)[1] for name in updates}
    changes = {name: update(current[name]) or {} for name, update in updates.items()}
    return changes if any(zone_changes.affects_zones(current[name], changes[name]) for name in changes) else {}


def _write(store: HostStateStore, name: str, update: DocumentUpdate) -> None:
    for _ in range(ATTEMPTS):
        version, current = store.find_state(NAMESPACE, name)
        document = update(current)
        try:
            if document is None:
                store.delete_state(NAMESPACE, name, version)
            elif not is_same(current, document):
                store.put_state(NAMESPACE, name, version, document)
            return
        except errors.VersionConflict:
            continue
    raise errors.StoreUnavailable(why=f"too many concurrent updates of aggregate {name!r}; retry")


def _replace_if_later(name: str, document: AggregateDocument) -> DocumentUpdate:
    def replace(current: AggregateDocument) -> AggregateDocument:
        return document if not current or _is_later(name, document, current) else current

    return replace


def _is_later(name: str, document: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    new_version, current_version = document.get("version"), current.get("version")
    if new_version is None or current_version is None:
        return True
    if isinstance(new_version, str) is not isinstance(current_version, str):
        why = (
            f"version {new_version!r} cannot be compared with {current_version!r}: one is a number, the other a string"
        )
        raise errors.InvalidHostState(name=name, namespace=NAMESPACE, why=why)
    return bool(new_version > current_version)
