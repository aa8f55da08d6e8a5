# SPDX-License-Identifier: Apache-2.0
"""A store that keeps the documents of some declared namespaces on another server."""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import namespaces, validation
from scheduler_svc.store.forwarding import ForwardingStore
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import Versioned
from scheduler_svc.store.providers.changes import Refusal

LOG = logging.getLogger(__name__)

POLL_MS = 500  # between polls for changed documents: memcached sends no notifications


class DeclaredStateStore(Protocol):
    """Storage of declared namespaces' documents; see scheduler_svc.store.memcached."""

    def get(self, namespace: str, name: str) -> Versioned:
        """Return (version, document)."""

    def page(
        self, namespace: str, marker: str | None, limit: int
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return a page of documents."""

    def put(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace a document."""

    def delete(self, namespace: str, name: str, version: int) -> None:
        """Delete a document."""

    def versions(self, namespace: str) -> dict[str, int]:
        """Return the version of each document."""

    def read(self, namespace: str, names: Collection[str]) -> dict[str, Versioned]:
        """Return documents by name."""

    def close(self) -> None:
        """Close all connections."""


class CompositeStore(ForwardingStore):
    """A store that keeps the documents of ``external_namespaces`` in ``states``, and everything else in ``store``.

    Changes of these documents are in no log. ``follow`` polls their versions, and returns each change as an entry at
    the position of the last log entry. Only the process that took the snapshot may follow.
    """

    def __init__(self, store: Store, states: DeclaredStateStore, external_namespaces: Collection[str]) -> None:
        super().__init__(store)
        self._states = states
        self._external = frozenset(external_namespaces)
        self._follower_versions: dict[str, dict[str, int]] = {}  # namespace -> name -> version that the follower has
        self._next_poll = 0.0
        self._is_unavailable = False

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        if namespace not in self._external:
            return super().get_state(namespace, name)
        validation.check_name(name)
        return self._states.get(namespace, name)

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        if namespace not in self._external:
            return super().list_state(namespace, marker, limit)
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._states.page(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        if namespace not in self._external:
            return super().put_state(namespace, name, version, document)
        validation.check_name(name)
        namespaces.check_document(namespace, document)
        return self._states.put(namespace, name, version, document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        if namespace not in self._external:
            super().delete_state(namespace, name, version)
        else:
            validation.check_name(name)
            self._states.delete(namespace, name, version)

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        if namespace in self._external:
            raise validation.refuse(f"namespace {namespace!r} is on another server: it has no names to retire")
        return super().retire(namespace, name, as_of)

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        external = [namespace for namespace in namespaces if namespace in self._external]
        snapshot = super().snapshot([namespace for namespace in namespaces if namespace not in self._external])
        # Versions are read first: a document that changes meanwhile is returned again.
        self._follower_versions = {namespace: self._states.versions(namespace) for namespace in external}
        contents = {
            namespace: self._states.read(namespace, list(versions))
            for namespace, versions in self._follower_versions.items()
        }
        states = {
            namespace: {name: document for name, (_at, document) in documents.items()}
            for namespace, documents in contents.items()
        }
        return replace(snapshot, states={**snapshot.states, **states})

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        wait_ms = min(block_ms, POLL_MS) if self._follower_versions else block_ms
        entries = super().follow(position, wait_ms, limit)
        if entries is None or not self._follower_versions or time.monotonic() < self._next_poll:
            return entries
        self._next_poll = time.monotonic() + POLL_MS / 1000
        as_of = entries[-1].position if entries else position
        return [*entries, *self._poll(lambda: self._changes(as_of))]

    def close(self) -> None:
        super().close()
        self._states.close()

    def _changes(self, position: int) -> list[LogEntry]:
        """Return the documents that changed since the last poll."""
        entries, current = [], {}
        for namespace, previous in self._follower_versions.items():
            current[namespace] = self._states.versions(namespace)
            changed = [name for name, version in current[namespace].items() if previous.get(name) != version]
            contents = self._states.read(namespace, changed)
            documents = {name: contents[name][1] if name in contents else None for name in changed}
            documents |= dict.fromkeys(previous.keys() - current[namespace].keys())
            if documents:
                entries.append(LogEntry(position, "state", {namespace: documents}))
        self._follower_versions = current
        return entries

    def _poll(self, read: Callable[[], list[LogEntry]]) -> list[LogEntry]:
        """Poll for changes; while the server is unavailable, return none, and keep the last known documents."""
        try:
            entries = read()
        except errors.Unavailable as error:
            if not self._is_unavailable:
                LOG.warning("Host state not refreshed, namespaces=%s: %s", ", ".join(sorted(self._external)), error)
            self._is_unavailable = True
            return []
        self._is_unavailable = False
        return entries
