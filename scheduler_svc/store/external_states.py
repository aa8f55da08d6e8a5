# SPDX-License-Identifier: Apache-2.0
"""Declared namespaces whose documents are on a different server than the rest of the partition."""

import logging
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rpcapi import errors
from scheduler_svc.core.records import LogEntry

if TYPE_CHECKING:  # without memcached, pymemcache need not be installed
    from scheduler_svc.store.memcached import MemcachedStates

LOG = logging.getLogger(__name__)

POLL_MS = 500  # poll interval; memcached has no notifications


class ExternalStates:
    """Documents of ``namespaces`` on ``server``, for one follower.

    ``snapshot`` notes the documents' versions; each ``changes`` returns what changed since the last noted versions.
    """

    def __init__(self, server: "MemcachedStates", namespaces: Collection[str]) -> None:
        self._server = server
        self._namespaces = frozenset(namespaces)
        self._follower_versions: dict[str, dict[str, int]] = {}  # {namespace: {name: last version returned}}
        self._next_poll = 0.0
        self._is_unavailable = False

    def server_of(self, namespace: str) -> "MemcachedStates | None":
        return self._server if namespace in self._namespaces else None

    def snapshot(self, namespaces: Collection[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return {namespace: {name: document}} for the external namespaces among ``namespaces``."""
        # Read the versions first: a document that changes in between is then returned again by ``changes``.
        self._follower_versions = {
            namespace: self._server.versions(namespace) for namespace in namespaces if namespace in self._namespaces
        }
        contents = {
            namespace: self._server.read(namespace, list(versions))
            for namespace, versions in self._follower_versions.items()
        }
        return {
            namespace: {name: document for name, (_at, document) in documents.items()}
            for namespace, documents in contents.items()
        }

    def wait_ms(self, block_ms: int) -> int:
        return min(block_ms, POLL_MS) if self._follower_versions else block_ms

    def changes(self, position: int) -> list[LogEntry]:
        """Return the documents changed since the last poll, as log entries at ``position``.

        Returns [] while no poll is due and while the server does not answer.
        """
        if not self._follower_versions or time.monotonic() < self._next_poll:
            return []
        self._next_poll = time.monotonic() + POLL_MS / 1000
        try:
            entries = self._changes(position)
        except errors.Unavailable as error:
            if not self._is_unavailable:
                LOG.warning("Cannot refresh host state, namespaces=%s: %s", ", ".join(sorted(self._namespaces)), error)
            self._is_unavailable = True
            return []
        self._is_unavailable = False
        return entries

    def close(self) -> None:
        self._server.close()

    def _changes(self, position: int) -> list[LogEntry]:
        entries, current = [], {}
        for namespace, previous in self._follower_versions.items():
            current[namespace] = self._server.versions(namespace)
            changed = [name for name, version in current[namespace].items() if previous.get(name) != version]
            contents = self._server.read(namespace, changed)
            documents = {name: contents[name][1] if name in contents else None for name in changed}
            documents |= dict.fromkeys(previous.keys() - current[namespace].keys())
            if documents:
                entries.append(LogEntry(position, "state", {namespace: documents}))
        self._follower_versions = current
        return entries
