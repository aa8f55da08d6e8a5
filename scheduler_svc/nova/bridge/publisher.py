# SPDX-License-Identifier: Apache-2.0
"""Writer of the bridge's changed documents."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.nova.bridge.documents import Document, Documents
from scheduler_svc.store import namespaces, paging
from scheduler_svc.store.protocols.host_state import HostStateStore

LOG = log.getLogger(__name__)


class DocumentPublisher:
    """Sole writer of one namespace. ``keep_lease`` raises before a write if this process may no longer write."""

    def __init__(self, store: HostStateStore, namespace: Namespace, keep_lease: Callable[[], None]) -> None:
        self._store = store
        self._namespace = namespace
        self._keep_lease = keep_lease
        self._stored: dict[str, tuple[int, Document]] = {}
        self._refused: dict[str, Document] = {}  # documents that violate the schema, so that each is logged once

    @property
    def documents(self) -> Documents:
        return {name: document for name, (_, document) in self._stored.items()}

    def load(self) -> None:
        """Load the stored documents: before the first write, and after another process may have written."""
        rows = paging.entries(partial(self._store.list_state, self._namespace.name))
        self._stored = {name: (version, document) for name, version, document in rows}

    def publish(self, documents: Mapping[str, Mapping[str, Any]]) -> int:
        """Write changed documents and delete missing ones; return the number of writes.

        A document that violates the schema is logged, and deleted if it was stored. Raises VersionConflict if another
        process has written, and StoreUnavailable.
        """
        allowed = {name: dict(document) for name, document in documents.items() if self._allows(name, document)}
        changed = {
            name: document
            for name, document in allowed.items()
            if name not in self._stored or self._stored[name][1] != document
        }
        departed = self._stored.keys() - allowed.keys()
        for name, document in changed.items():
            self._keep_lease()
            version = self._stored.get(name, (0, {}))[0]
            self._stored[name] = (self._store.put_state(self._namespace.name, name, version, document), document)
        for name in departed:
            self._keep_lease()
            self._store.delete_state(self._namespace.name, name, self._stored[name][0])
            del self._stored[name]
        metrics.BRIDGE_WRITES.labels(namespace=self._namespace.name).inc(len(changed) + len(departed))
        return len(changed) + len(departed)

    def _allows(self, name: str, document: Mapping[str, Any]) -> bool:
        if name in self._stored and self._stored[name][1] == document:
            return True
        if self._refused.pop(name, None) == document:
            self._refused[name] = dict(document)
            return False
        try:
            self._namespace.check_document(name, document)
            namespaces.check_document(self._namespace.name, document)
        except (errors.InvalidHostState, errors.InvalidRequest) as error:
            LOG.error("Not writing document %s of namespace %s: %s", name, self._namespace.name, error)
            self._refused[name] = dict(document)
            return False
        return True
