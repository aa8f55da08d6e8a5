# SPDX-License-Identifier: Apache-2.0
"""Writes of aggregates: whole documents, replicated to every partition, in any order of messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.store.aggregates import NAMESPACE
from scheduler_svc.store.documents import is_same
from scheduler_svc.store.namespaces import check_document
from scheduler_svc.store.protocols.host_state import HostStateStore

MAX_AGGREGATES = 200  # maximum aggregates of one call
ATTEMPTS = 10  # attempts to write a document under contention

AggregateDocument = dict[str, Any]
# Maps the current document ({} if none) to the new one, or None.
DocumentUpdate = Callable[[AggregateDocument], AggregateDocument | None]


class AggregateWriter:
    """Writes documents of namespace ``aggregate`` to every partition, because claims are checked locally.

    Documents whose increasing number or string ``version`` is not newer than the stored one are ignored; without
    versions, the last write wins.
    """

    def __init__(self, partitions: OpenPartitions, namespace: Namespace) -> None:
        self._partitions = partitions
        self._namespace = namespace

    def update(self, payloads: Sequence[Any]) -> None:
        """Create or replace whole aggregate documents {"id", "name", "hosts", "metadata", "version"}.

        "hosts" and either "id" or "name" are required. Raises InvalidRequest, InvalidName or InvalidHostState without
        any change; after StoreUnavailable other partitions may be updated, and the caller must retry.
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
        self._apply({name: _replace_if_later(name, document) for name, document in documents.items()})

    def delete(self, name: names.ResourceName, version: int | str | None = None) -> None:
        """Delete an aggregate if it exists.

        With a ``version`` a tombstone remains, so that a delayed older update cannot recreate it. Raises InvalidName,
        InvalidHostState, and StoreUnavailable like ``update``.
        """
        canonical_name = names.canonical(name)
        if version is None:
            self._apply({canonical_name: lambda _current: None})
            return
        tombstone: AggregateDocument = {"hosts": [], "deleted": True, "version": version}
        self._namespace.check_document(canonical_name, tombstone)
        self._apply({canonical_name: _replace_if_later(canonical_name, tombstone)})

    def _read(self, payload: Any) -> tuple[str, AggregateDocument]:
        canonical_name = (payload.get("id") or payload.get("name")) if isinstance(payload, Mapping) else None
        if not isinstance(canonical_name, str):
            raise errors.InvalidRequest(why="an aggregate must be a mapping with an 'id' or a 'name'")
        document = {key: value for key, value in payload.items() if key != "id" and value is not None}
        name = names.canonical(canonical_name)
        if "deleted" in document:
            raise errors.InvalidRequest(
                why=f"aggregate {name!r} must not have key 'deleted'; delete it with delete_aggregate"
            )
        if isinstance(document.get("hosts"), list):
            document["hosts"] = list(dict.fromkeys(map(names.canonical, document["hosts"])))
        self._namespace.check_document(name, document)
        check_document(NAMESPACE, document)
        return name, document

    def _apply(self, updates: Mapping[str, DocumentUpdate]) -> None:
        last_error: errors.StoreUnavailable | None = None
        steps = [(partition.store, name, update) for partition in self._partitions for name, update in updates.items()]
        for act in (_check_update, _write):
            for store, name, update in steps:
                try:
                    act(store, name, update)
                except errors.StoreUnavailable as error:
                    last_error = error
        if last_error is not None:
            raise last_error


def _check_update(store: HostStateStore, name: str, update: DocumentUpdate) -> None:
    update(store.find_state(NAMESPACE, name)[1])


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
