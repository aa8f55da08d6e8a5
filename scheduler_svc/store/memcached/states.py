# SPDX-License-Identifier: Apache-2.0
"""Documents of declared namespaces in memcached, with lists of their names.

memcached cannot list keys. Each change therefore writes the document, then its name and version to one of SHARDS
lists. If the writer dies between the two writes, repeating the change updates the list.
"""

import hashlib
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, namespaces, paging
from scheduler_svc.store.memcached.connect import MemcachedConnection
from scheduler_svc.store.records import SCHEMA

SHARDS = 64  # name lists per namespace; each change rewrites one list
TRIES = 20  # tries of a compare-and-swap under contention
TOMBSTONE_SECONDS = 3600  # lifetime of a deleted document's version
READ_BATCH = 500  # documents per command


class MemcachedStates:
    """Declared host state of one partition at ``url``: memcached://host:port or memcached:///socket.

    Versions are times in ms, so that a document stored again after its eviction gets a new version.
    """

    def __init__(self, url: str, partition: str) -> None:
        self._connection = MemcachedConnection(url)
        self._partition = partition

    def get(self, namespace: str, name: str) -> namespaces.Versioned:
        contents = self.read(namespace, [name])
        if name not in contents:
            raise errors.UnknownHost(name=name)
        return contents[name]

    def page(self, namespace: str, marker: str | None, limit: int) -> paging.Page[namespaces.StateRow]:
        """Return a page of (name, version, document) by name, without evicted documents, and the next marker."""
        names, following = paging.cut(self.versions(namespace), marker, limit)
        contents = self.read(namespace, names)
        return [(name, *contents[name]) for name in names if name in contents], following

    def put(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        return self._change(namespace, name, version, dict(document))

    def delete(self, namespace: str, name: str, version: int) -> None:
        self._change(namespace, name, version, None)

    def versions(self, namespace: str) -> dict[str, int]:
        """Return {name: version} of all listed documents, including evicted ones."""
        texts = self._connection.get_many(self._list_key(namespace, shard) for shard in range(SHARDS))
        return {name: at for text in texts.values() for name, at in _read(text)["names"].items()}

    def read(self, namespace: str, names: Iterable[str]) -> dict[str, namespaces.Versioned]:
        keys = {self._key(namespace, name): name for name in names}
        contents: dict[str, namespaces.Versioned] = {}
        for batch in paging.batches(list(keys), READ_BATCH):
            for key, text in self._connection.get_many(batch).items():
                raw = _read(text)
                if raw["state"] is not None:
                    contents[keys[key]] = (raw["version"], raw["state"])
        return contents

    def close(self) -> None:
        self._connection.close()

    def _change(self, namespace: str, name: str, version: int, document: dict[str, Any] | None) -> int:
        new_version = 0

        def change(raw: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal new_version
            stored, last = raw.get("state"), raw.get("version", 0)
            if documents.is_same(stored, document):
                new_version = last
                return None
            at = last if stored is not None else 0
            if at != version:
                raise namespaces.conflict(namespace, name, at, version)
            new_version = max(last + 1, time.time_ns() // 1_000_000)
            return {"version": new_version, "state": document}

        self._swap(self._key(namespace, name), change, TOMBSTONE_SECONDS if document is None else 0)
        self._list_name(namespace, name, None if document is None else new_version)
        return new_version

    def _list_name(self, namespace: str, name: str, version: int | None) -> None:
        def change(raw: dict[str, Any]) -> dict[str, Any] | None:
            names = raw.get("names", {})
            if version is None:
                listed = {other: at for other, at in names.items() if other != name}
            else:
                listed = {**names, name: max(version, names.get(name, 0))}
            return None if listed == names else {"names": listed}

        self._swap(self._list_key(namespace, zlib.crc32(name.encode()) % SHARDS), change)

    def _swap(self, key: str, change: Callable[[dict[str, Any]], dict[str, Any] | None], expire: int = 0) -> None:
        """Replace a value by ``change(value)``, and try again after a lost race.

        ``change`` gets {} for a missing value, and returns None to keep the value.
        """
        for _ in range(TRIES):
            text, token = self._connection.gets(key)
            new = change({} if text is None else _read(text))
            if new is None:
                return
            value = documents.encode({**new, "schema": SCHEMA}).encode()
            if self._connection.swap(key, value, token, expire):
                return
        raise errors.StoreUnavailable(why="too many concurrent updates in memcached; retry")

    def _key(self, namespace: str, name: str) -> str:
        return self._hashed("state", namespace, name)

    def _list_key(self, namespace: str, shard: int) -> str:
        return self._hashed("names", namespace, str(shard))

    def _hashed(self, *parts: str) -> str:
        """Return a hashed key, because names may be too long for memcached or contain forbidden characters."""
        text = "|".join((self._partition, *parts))
        return f"gantt:{hashlib.sha256(text.encode()).hexdigest()}"


def _read(text: bytes) -> dict[str, Any]:
    return documents.decode(text, "host state")
