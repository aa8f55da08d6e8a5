# SPDX-License-Identifier: Apache-2.0
"""Documents of declared namespaces in memcached, and lists of their names.

A document is changed by compare-and-swap. Its name and version are then noted in one of a few lists, since memcached
cannot tell what it holds; whoever dies in between repeats the whole, and finds the document done and the list not.
"""

import hashlib
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, namespaces, paging
from scheduler_svc.store.memcached.connect import Connection
from scheduler_svc.store.records import SCHEMA

SHARDS = 64  # lists of a namespace: a change rewrites one
TRIES = 20  # of a swap that others come between
GRAVE_SECONDS = 3600  # that a deleted document's version is remembered
LOT = 500  # documents in one question


class MemcachedStates:
    """The declared host state of one partition, at ``url``: memcached://host:port or memcached:///socket.

    A version is a time in milliseconds, so that a document which was evicted and put again is not taken for the
    former. What memcached evicts, or loses when it ends, is as if it had never been told: until it is told again.
    """

    def __init__(self, url: str, partition: str) -> None:
        self._connection = Connection(url)
        self._partition = partition

    def get(self, namespace: str, name: str) -> namespaces.Versioned:
        """Return (version, document); raises UnknownHost."""
        found = self.read(namespace, [name])
        if name not in found:
            raise errors.UnknownHost(name=name)
        return found[name]

    def page(
        self, namespace: str, marker: str | None, limit: int
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        """Return documents by name after ``marker``, and the next marker; a page may be short of evicted ones."""
        wanted, following = paging.cut(self.versions(namespace), marker, limit)
        found = self.read(namespace, wanted)
        return [(name, *found[name]) for name in wanted if name in found], following

    def put(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        """Replace the document at ``version`` and return its new version; raises VersionConflict."""
        return self._change(namespace, name, version, dict(document))

    def delete(self, namespace: str, name: str, version: int) -> None:
        """Delete the document at ``version``; fine where there is none. Raises VersionConflict."""
        self._change(namespace, name, version, None)

    def versions(self, namespace: str) -> dict[str, int]:
        """Return the version of each document that was put."""
        found = self._connection.get_many(self._list_key(namespace, shard) for shard in range(SHARDS))
        return {name: at for text in found.values() for name, at in _read(text)["names"].items()}

    def read(self, namespace: str, names: Iterable[str]) -> dict[str, namespaces.Versioned]:
        """Return those documents of these names that there are."""
        keys = {self._key(namespace, name): name for name in names}
        found: dict[str, namespaces.Versioned] = {}
        wanted = list(keys)
        for start in range(0, len(wanted), LOT):
            for key, text in self._connection.get_many(wanted[start : start + LOT]).items():
                raw = _read(text)
                if raw["state"] is not None:
                    found[keys[key]] = (raw["version"], raw["state"])
        return found

    def close(self) -> None:
        """Let go of all connections."""
        self._connection.close()

    def _change(self, namespace: str, name: str, version: int, document: dict[str, Any] | None) -> int:
        made = 0

        def change(raw: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal made
            held, last = raw.get("state"), raw.get("version", 0)
            if documents.is_same(held, document):
                made = last
                return None
            at = last if held is not None else 0
            if at != version:
                raise namespaces.conflict(namespace, name, at, version)
            made = max(last + 1, time.time_ns() // 1_000_000)
            return {"version": made, "state": document}

        self._swap(self._key(namespace, name), change, GRAVE_SECONDS if document is None else 0)
        self._note(namespace, name, None if document is None else made)
        return made

    def _note(self, namespace: str, name: str, version: int | None) -> None:
        """Write a document's version into its list; an older one says nothing new there."""

        def change(raw: dict[str, Any]) -> dict[str, Any] | None:
            names = raw.get("names", {})
            if version is None:
                rest = {other: at for other, at in names.items() if other != name}
            else:
                rest = {**names, name: max(version, names.get(name, 0))}
            return None if rest == names else {"names": rest}

        self._swap(self._list_key(namespace, zlib.crc32(name.encode()) % SHARDS), change)

    def _swap(self, key: str, change: Callable[[dict[str, Any]], dict[str, Any] | None], expire: int = 0) -> None:
        """Store what ``change`` makes of a value ({}: there is none), tried again when another came between."""
        for _ in range(TRIES):
            text, token = self._connection.gets(key)
            new = change({} if text is None else _read(text))
            if new is None:
                return
            value = documents.encode({**new, "schema": SCHEMA}).encode()
            if self._connection.swap(key, value, token, expire):
                return
        raise errors.StoreUnavailable(why="changes in memcached overtake each other")

    def _key(self, namespace: str, name: str) -> str:
        return self._hashed("state", namespace, name)

    def _list_key(self, namespace: str, shard: int) -> str:
        return self._hashed("names", namespace, str(shard))

    def _hashed(self, *parts: str) -> str:
        """Return a key: names may be longer than those of memcached, and hold what it does not allow."""
        text = "|".join((self._partition, *parts))
        return f"gantt:{hashlib.sha256(text.encode()).hexdigest()}"


def _read(text: bytes) -> dict[str, Any]:
    return documents.decode(text, "host state")
