# SPDX-License-Identifier: Apache-2.0
"""Host state: documents in namespaces, each with one declared writer."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.namespaces.registry import COMPOSED, NamespaceRegistry
from scheduler_svc.store import paging
from scheduler_svc.store.documents import is_same
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import OLDER_SEEN_MS, RPC_VERSIONS

HOST = "host"  # key of ``matching`` that selects the documents of one service host
MAX_SCANNED = 5000  # maximum documents that one call scans, so that a rare match does not block a worker
CHUNK_SIZE = 1000  # documents of one read of the store

_CHANGEABLE = ("enabled", "disabled_reason")  # of a service


class HostStateDocument(NamedTuple):
    """A document of a partition, and its version, which an update must name."""

    partition: str
    name: str
    version: int
    document: dict[str, Any]


class HostStates:
    """Reads and writes the documents of one store. Thread-safe: the store compares versions on write."""

    def __init__(self, documents: Store, namespaces: NamespaceRegistry) -> None:
        self._documents = documents
        self._namespaces = namespaces

    def get(self, namespace: str, name: str) -> HostStateDocument:
        """Return one document; raises UnknownNamespace, UnknownHost."""
        self._namespaces.find(namespace)
        return self._get_document(namespace, name, required=True)

    def list(
        self, namespace: str, marker: str | None, limit: int, matching: Mapping[str, Any] | None = None
    ) -> tuple[list[HostStateDocument], str | None]:
        """Return a page of documents by name, and the marker of the next page, None at the end.

        ``matching`` filters by values of top-level keys. A page with a marker may have fewer than ``limit`` documents,
        because a call scans at most MAX_SCANNED. Raises UnknownNamespace.
        """
        self._namespaces.find(namespace)
        conditions = dict(matching or {})
        host = conditions.pop(HOST, None)
        states = self._iterate(namespace, marker) if host is None else self._iterate_host(namespace, host, marker)
        matches: list[HostStateDocument] = []
        last: str | None = None
        for state in islice(states, MAX_SCANNED):
            if len(matches) == limit:
                return matches, last
            last = state.name
            if all(key in state.document and is_same(state.document[key], value) for key, value in conditions.items()):
                matches.append(state)
        return matches, None if next(states, None) is None else last

    def update(
        self, namespace: str, name: str, version: int, changes: Mapping[str, Any], writer: str
    ) -> HostStateDocument:
        """Merge ``changes`` into the document at ``version`` (0: create it) and return the result.

        A null value removes the key, except in namespace ``service``. If nothing changes, the current document is
        returned. Raises UnknownNamespace, WriterRefused, UnknownHost, VersionConflict, InvalidRequest,
        InvalidHostState.
        """
        declaration = self._namespaces.find(namespace)
        declaration.check_writer(writer)
        if namespace in COMPOSED:
            return self._update_composed(namespace, name, version, changes)
        current = self._get_document(namespace, name, required=version > 0)
        merged = {key: value for key, value in {**current.document, **changes}.items() if value is not None}
        if current.version and is_same(merged, current.document):
            return current
        declaration.check_document(name, merged)
        return HostStateDocument(
            self._documents.partition, name, self._documents.put_state(namespace, name, version, merged), merged
        )

    def delete(self, namespace: str, name: str, version: int, writer: str) -> None:
        """Delete the document at ``version``; does nothing if it does not exist.

        Raises UnknownNamespace, WriterRefused, VersionConflict, and InvalidRequest if documents of the namespace are
        deleted only with their host.
        """
        self._namespaces.find(namespace).check_writer(writer)
        self._documents.delete_state(namespace, name, version)

    def _update_composed(
        self, namespace: str, name: str, version: int, changes: Mapping[str, Any]
    ) -> HostStateDocument:
        document = dict(changes)
        if namespace == "service":
            reported = sorted(document.keys() & {RPC_VERSIONS, OLDER_SEEN_MS})
            if reported:
                raise errors.InvalidRequest(
                    why=f"{', '.join(reported)} of a service can be changed by its reports only"
                )
            current = self._documents.get_state(namespace, name)[1]
            document = {key: current[key] for key in _CHANGEABLE} | document
        self._documents.put_state(namespace, name, version, document)
        return self.get(namespace, name)

    def _get_document(self, namespace: str, name: str, *, required: bool) -> HostStateDocument:
        try:
            return HostStateDocument(self._documents.partition, name, *self._documents.get_state(namespace, name))
        except errors.UnknownHost as error:
            if not required:
                return HostStateDocument(self._documents.partition, name, 0, {})
            if namespace in COMPOSED:
                raise
            where = f"in namespace {namespace!r}; see 'gantt state list {namespace}'"
            raise errors.UnknownHost(f"There is no document {name!r} {where}", name=name) from error

    def _iterate(self, namespace: str, marker: str | None) -> Iterator[HostStateDocument]:
        rows = paging.entries(lambda start: self._documents.list_state(namespace, start, CHUNK_SIZE), marker)
        return (HostStateDocument(self._documents.partition, *row) for row in rows)

    def _iterate_host(self, namespace: str, host: Any, marker: str | None) -> Iterator[HostStateDocument]:
        """Yield the documents of a service host and of its nodes, by name."""
        if not isinstance(host, str):
            raise errors.InvalidRequest(why=f"matching: {HOST!r} must be the name of a service host")
        if marker is None or marker < host:
            own_state = self._get_document(namespace, host, required=False)
            if own_state.version:
                yield own_state
        node_prefix = f"{host}{names.SEPARATOR}"
        for state in self._iterate(namespace, max(node_prefix, marker or "")):
            if not state.name.startswith(node_prefix):
                return
            yield state
