# SPDX-License-Identifier: Apache-2.0
"""Host state documents in namespaces with one declared writer each."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.namespaces.registry import COMPOSED, NamespaceRegistry
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.store import aggregates, paging
from scheduler_svc.store.documents import is_same
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import OLDER_SEEN_MS, RPC_VERSIONS

HOST = "host"  # key in ``matching`` that selects the documents of one service host
MAX_SCANNED = 5000  # documents scanned per call, so that a search with few matches does not block a worker
CHUNK_SIZE = 1000  # documents per read from the store

_CHANGEABLE = ("enabled", "disabled_reason")  # fields of a service that operators may change


class HostStateDocument(NamedTuple):
    """Document of a partition, with the version that an update must name."""

    partition: str
    name: str
    version: int
    document: dict[str, Any]


class HostStates:
    """Thread-safe reader and writer of the documents of all partitions. Stores compare versions on write."""

    def __init__(self, partitions: OpenPartitions, namespaces: NamespaceRegistry) -> None:
        self._partitions = partitions
        self._namespaces = namespaces

    def get(self, namespace: str, name: str) -> HostStateDocument:
        """Return a document.

        Raises UnknownNamespace, UnknownHost, or StoreUnavailable if an unavailable store may have the document.
        """
        self._namespaces.find(namespace)
        missing: errors.GanttError | None = None
        for partition in self._partitions.search_order(names.host_of(name)):
            try:
                return _read(partition.store, namespace, name, required=True)
            except errors.UnknownHost as error:
                missing = missing or error
            except errors.StoreUnavailable as error:
                missing = error
        assert missing is not None  # noqa: S101 - there is at least one partition
        raise missing

    def list(
        self,
        namespace: str,
        marker: str | None,
        limit: int,
        matching: Mapping[str, Any] | None = None,
        partition: str | None = None,
    ) -> tuple[list[HostStateDocument], str | None]:
        """Return a page of documents, sorted by name, and the next marker (None at the end).

        ``partition`` None means all partitions. ``matching`` compares top-level keys. A page with a marker may have
        fewer than ``limit`` documents, because a call scans at most MAX_SCANNED documents per partition. Raises
        UnknownNamespace, UnknownPartition and StoreUnavailable.
        """
        self._namespaces.find(namespace)
        partitions = [self._partitions.find(partition)] if partition is not None else list(self._partitions)
        pages = [_page(member.store, namespace, marker, limit, matching or {}) for member in partitions]
        documents = sorted(
            (document for page, _ in pages for document in page),
            key=lambda document: (document.name, document.partition),
        )
        # Stop at the end of the shortest page, because that page's partition may have further names.
        ends = [following for _, following in pages if following is not None]
        if len(documents) > limit:
            ends.append(documents[limit - 1].name)
        if not ends:
            return documents, None
        last = min(ends)
        return [document for document in documents if document.name <= last], last

    def every(self, namespace: str) -> Iterator[Mapping[str, Any]]:
        """Yield the documents of all partitions. Raises UnknownNamespace and StoreUnavailable."""
        located = paging.entries(lambda marker: self.list(namespace, marker, CHUNK_SIZE))
        return (document.document for document in located)

    def update(
        self,
        namespace: str,
        name: str,
        version: int,
        changes: Mapping[str, Any],
        writer: str,
        *,
        partition: str | None = None,
    ) -> HostStateDocument:
        """Merge ``changes`` into the document at ``version`` (0 creates it) and return the result.

        None removes a key, except in namespace ``service``. ``partition`` None means the document's partition or, for a
        new document, its host's. Raises UnknownNamespace, WriterRefused, UnknownPartition, UnknownHost, Conflict,
        VersionConflict, InvalidHostState, and InvalidRequest, also for an aggregate if there are several partitions.
        """
        declaration = self._namespaces.find(namespace)
        declaration.check_writer(writer)
        store = self._find_partition(namespace, name, partition).store
        if namespace in COMPOSED:
            return _update_composed(store, namespace, name, version, changes)
        current = _read(store, namespace, name, required=version > 0)
        merged = {key: value for key, value in {**current.document, **changes}.items() if value is not None}
        if current.version and is_same(merged, current.document):
            return current
        declaration.check_document(name, merged)
        return HostStateDocument(store.partition, name, store.put_state(namespace, name, version, merged), merged)

    def delete(self, namespace: str, name: str, version: int, writer: str) -> None:
        """Delete the document at ``version``, if it exists.

        Raises UnknownNamespace, WriterRefused, VersionConflict, and InvalidRequest for documents that are only deleted
        together with their host.
        """
        self._namespaces.find(namespace).check_writer(writer)
        self._find_partition(namespace, name, None).store.delete_state(namespace, name, version)

    def _find_partition(self, namespace: str, name: str, partition: str | None) -> OpenPartition:
        """Return the partition of an existing or new document. Raises Conflict if another one has it."""
        requested_partition = None if partition is None else self._partitions.find(partition)
        if len(self._partitions) == 1:
            return self._partitions.own
        if namespace == aggregates.NAMESPACE:
            raise errors.InvalidRequest(
                why=f"aggregate {name!r} is in every partition: change it with update_aggregates or "
                "delete_aggregate ('gantt aggregate')"
            )
        if requested_partition is not None and self._has(requested_partition, namespace, name):
            return requested_partition
        try:
            owner = self._partitions.find(self.get(namespace, name).partition)
        except errors.UnknownHost:
            return requested_partition or next(iter(self._partitions.search_order(names.host_of(name))))
        if requested_partition is not None:
            # Two documents with the same name would apply to different hosts.
            raise errors.Conflict(
                what=f"Creating {name!r} in partition {partition!r}", why=f"it is in partition {owner.name!r} already"
            )
        return owner

    def _has(self, partition: OpenPartition, namespace: str, name: str) -> bool:
        try:
            _read(partition.store, namespace, name, required=True)
        except errors.UnknownHost:
            return False
        return True


def _page(
    store: Store, namespace: str, marker: str | None, limit: int, matching: Mapping[str, Any]
) -> tuple[list[HostStateDocument], str | None]:
    conditions = dict(matching)
    host = conditions.pop(HOST, None)
    states = _iterate(store, namespace, marker) if host is None else _iterate_host(store, namespace, host, marker)
    matches: list[HostStateDocument] = []
    last: str | None = None
    for state in islice(states, MAX_SCANNED):
        if len(matches) == limit:
            return matches, last
        last = state.name
        if all(key in state.document and is_same(state.document[key], value) for key, value in conditions.items()):
            matches.append(state)
    return matches, None if next(states, None) is None else last


def _update_composed(
    store: Store, namespace: str, name: str, version: int, changes: Mapping[str, Any]
) -> HostStateDocument:
    document = dict(changes)
    if namespace == "service":
        reported = sorted(document.keys() & {RPC_VERSIONS, OLDER_SEEN_MS})
        if reported:
            raise errors.InvalidRequest(why=f"{', '.join(reported)} of a service can be changed only by its reports")
        current = store.get_state(namespace, name)[1]
        document = {key: current[key] for key in _CHANGEABLE} | document
    store.put_state(namespace, name, version, document)
    return _read(store, namespace, name, required=True)


def _read(store: Store, namespace: str, name: str, *, required: bool) -> HostStateDocument:
    try:
        return HostStateDocument(store.partition, name, *store.get_state(namespace, name))
    except errors.UnknownHost as error:
        if not required:
            return HostStateDocument(store.partition, name, 0, {})
        if namespace in COMPOSED:
            raise
        where = f"in namespace {namespace!r}; see 'gantt state list {namespace}'"
        raise errors.UnknownHost.of_message(f"There is no document {name!r} {where}", name=name) from error


def _iterate(store: Store, namespace: str, marker: str | None) -> Iterator[HostStateDocument]:
    rows = paging.entries(lambda start: store.list_state(namespace, start, CHUNK_SIZE), marker)
    return (HostStateDocument(store.partition, *row) for row in rows)


def _iterate_host(store: Store, namespace: str, host: Any, marker: str | None) -> Iterator[HostStateDocument]:
    if not isinstance(host, str):
        raise errors.InvalidRequest(why=f"matching: {HOST!r} must be the name of a service host")
    if marker is None or marker < host:
        own_state = _read(store, namespace, host, required=False)
        if own_state.version:
            yield own_state
    node_prefix = f"{host}{names.SEPARATOR}"
    for state in _iterate(store, namespace, max(node_prefix, marker or "")):
        if not state.name.startswith(node_prefix):
            return
        yield state
