# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a partition in Redis, read in pages so that neither the server nor a process handles all at once.

The first pages of all hashes are read in one transaction with the log's position. A small partition is complete then.
The further pages of a large one are read one by one, while others write; the log entries since the first pages are
applied to them in the end. They have absolute values, so it does not matter which of them a page already contains
(https://redis.io/docs/latest/commands/scan: what is in a hash during the whole iteration is returned).
"""

import functools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import documents
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import prefix, state_key
from scheduler_svc.store.redis.log import RedisLog

PAGE = 1000  # fields of a hash that one command reads, approximately
ATTEMPTS = 5  # to read a partition whose log is shorter than what is written meanwhile, or that begins epochs

Follow = Callable[[int, int, int], list[LogEntry] | None]

_WORDS = ("providers", "used", "services", "alive", "opened")


class DecodedTexts(MutableMapping[str, Any]):
    """Values by name that are stored as text and decoded at each access: as objects they take several times as much."""

    def __init__(self, texts: dict[str, str], decode: Callable[[str], Any]) -> None:
        self._texts = texts
        self._decode = decode

    def __getitem__(self, name: str) -> Any:
        return self._decode(self._texts[name])

    def __setitem__(self, name: str, value: Any) -> None:
        self._texts[name] = documents.encode(value)

    def __delitem__(self, name: str) -> None:
        del self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __repr__(self) -> str:
        return repr(dict(self))


class RedisSnapshots(RedisLog):
    """The log, and the verb ``snapshot``.

    It raises StoreUnavailable where the partition changes faster than it can be read, and IncompatibleObject, for
    providers when they are read from the snapshot.
    """

    def _snapshot(self, namespaces: Collection[str]) -> Snapshot:
        for _ in range(ATTEMPTS):
            pages = _Pages(self._connection, namespaces)
            pages.read_first()
            is_large = pages.read_others()
            complete = pages.catch_up(pages.snapshot(), self._follow) if is_large else pages.snapshot()
            if complete is not None:
                self._connection.identity.observe(complete.epoch, complete.position)
                return complete
        raise errors.StoreUnavailable(
            why=f"partition {self.partition!r} changed too fast for {ATTEMPTS} attempts to read a snapshot; "
            "with a larger [store] log_length it may change more meanwhile"
        )


class _Pages:
    """One attempt to read a partition."""

    def __init__(self, connection: RedisConnection, namespaces: Collection[str]) -> None:
        self._connection = connection
        self._head = prefix(connection.partition)
        self._keys = {word: self._head + word for word in _WORDS}
        self._keys |= {f"state:{namespace}": state_key(connection.partition, namespace) for namespace in namespaces}
        self._namespaces = namespaces
        self._texts: dict[str, dict[str, str]] = {word: {} for word in self._keys}
        self._cursors: dict[str, int] = {}  # of the hashes that have more pages
        self.epoch = self.position = 0

    def read_first(self) -> None:
        """Read the first page of each hash, all at one moment."""
        reply = self._connection.read(self._fill)
        if reply[0][0] is None:  # the keys were deleted while the server kept running
            self._connection.check_identity()
            reply = self._connection.read(self._fill)
        self.epoch, self.position = (int(value) for value in reply[0])
        for word, (cursor, texts) in zip(self._keys, reply[1:], strict=True):
            self._add(word, int(cursor), texts)

    def read_others(self) -> bool:
        """Read the other pages; return whether there were any."""
        is_large = bool(self._cursors)
        while self._cursors:
            word, cursor = next(iter(self._cursors.items()))
            scan = functools.partial(_scan, key=self._keys[word], cursor=cursor)
            ((following, texts),) = self._connection.read(scan)
            self._add(word, int(following), texts)
        return is_large

    def catch_up(self, snapshot: Snapshot, follow: Follow) -> Snapshot | None:
        """Return the snapshot after all log entries up to now; None where the log no longer has them all."""
        epoch, last = self._connection.read(lambda pipe: pipe.hmget(self._head + "meta", "epoch", "position"))[0]
        if epoch is None or int(epoch) != snapshot.epoch:
            return None
        position = snapshot.position
        while position < int(last):
            entries = follow(position, 0, PAGE)
            if not entries or any(entry.kind == "epoch" for entry in entries):
                return None
            for entry in entries:
                _apply(snapshot, entry)
            position = entries[-1].position
        return replace(snapshot, position=position)

    def snapshot(self) -> Snapshot:
        """Return what was read."""
        texts = self._texts
        return Snapshot(
            epoch=self.epoch,
            position=self.position,
            providers=DecodedTexts(texts["providers"], _decode_provider),
            used=DecodedTexts(texts["used"], json.loads),
            services={name: documents.decode(text, "service") for name, text in texts["services"].items()},
            alive={name: value == "1" for name, value in texts["alive"].items()},
            opened={host: max(0, int(value)) for host, value in texts["opened"].items()},
            states={
                namespace: {name: documents.decode_state(text)[1] for name, text in texts[f"state:{namespace}"].items()}
                for namespace in self._namespaces
            },
        )

    def _fill(self, pipe: Any) -> None:
        pipe.hmget(self._head + "meta", "epoch", "position")
        for key in self._keys.values():
            _scan(pipe, key, 0)

    def _add(self, word: str, cursor: int, texts: Mapping[str, str]) -> None:
        self._texts[word].update(texts)
        self._cursors.pop(word, None)
        if cursor:
            self._cursors[word] = cursor


def _scan(pipe: Any, key: str, cursor: int) -> None:
    pipe.hscan(key, cursor, count=PAGE)


def _decode_provider(text: str) -> Mapping[str, Any]:
    return documents.decode(text, "provider")


def _apply(snapshot: Snapshot, entry: LogEntry) -> None:
    """Apply an entry to the parts of a snapshot."""
    parts: Mapping[str, Any] = {
        "provider": snapshot.providers,
        "used": snapshot.used,
        "service": snapshot.services,
        "alive": snapshot.alive,
        "opened": snapshot.opened,
    }
    match entry.kind:
        case "gone":
            _update(snapshot.providers, dict.fromkeys(entry.payload))
        case "state":
            for namespace, states in entry.payload.items():
                _update(snapshot.states.get(namespace, {}), states)
        case kind:
            _update(parts[kind], entry.payload)
    if entry.kind == "service":  # what is gone with a host has no entries of its own
        for host in (host for host, service in entry.payload.items() if service is None):
            parts["alive"].pop(host, None)
            parts["opened"].pop(host, None)


def _update(part: Any, changes: Mapping[str, Any]) -> None:
    """Set values by name; None removes one."""
    for name, value in changes.items():
        if value is None:
            part.pop(name, None)
        else:
            part[name] = value
