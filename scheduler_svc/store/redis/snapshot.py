# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a partition in Redis, read in pages to limit the load on server and process.

One transaction reads the log position and the first page of each hash; a small partition has no further pages. Other
clients may write between further pages, so the log entries since the first pages are applied at the end. Their values
are absolute: applying an entry that a page already contains changes nothing. SCAN returns all elements that exist
during the whole iteration (https://redis.io/docs/latest/commands/scan).
"""

import json
from collections import UserDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import documents
from scheduler_svc.store.redis import log
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import state_word

PAGE = 1000  # approximate number of fields per page, and log entries per read
ATTEMPTS = 5  # tries of a snapshot during which the log drops needed entries or an epoch begins

_WORDS = ("providers", "used", "services", "alive", "opened")


class DecodedTexts(UserDict[str, Any]):
    """Mapping that keeps values as text and decodes them on access: decoded objects need several times the memory."""

    def __init__(self, texts: dict[str, str], decode: Callable[[str], Any]) -> None:
        self.data = texts
        self._decode = decode

    def __getitem__(self, name: str) -> Any:
        return self._decode(self.data[name])

    def __setitem__(self, name: str, value: Any) -> None:
        self.data[name] = documents.encode(value)


def snapshot(connection: RedisConnection, namespaces: Collection[str]) -> Snapshot:
    """Return a consistent copy of the replicated state. Raises StoreUnavailable and IncompatibleObject."""
    for _ in range(ATTEMPTS):
        pages = _Pages(connection, namespaces)
        pages.read_first()
        is_large = pages.read_others()
        complete = pages.catch_up(pages.snapshot()) if is_large else pages.snapshot()
        if complete is not None:
            connection.identity.observe(complete.epoch, complete.position)
            return complete
    raise errors.StoreUnavailable(
        why=f"partition {connection.partition!r} changed too fast for {ATTEMPTS} attempts to read a snapshot; raise "
        "[store] log_length, which allows more changes meanwhile"
    )


class _Pages:
    def __init__(self, connection: RedisConnection, namespaces: Collection[str]) -> None:
        self._connection = connection
        self._namespaces = namespaces
        self._texts: dict[str, dict[str, str]] = {word: {} for word in (*_WORDS, *map(state_word, namespaces))}
        self._cursors: dict[str, int] = {}  # {key word: SCAN cursor} of hashes with further pages
        self.epoch = self.position = 0

    def read_first(self) -> None:
        """Read the first page of every hash atomically."""
        commands = [("HMGET", "meta", "epoch", "position"), *(_scan(word, 0) for word in self._texts)]
        reply = self._connection.read(*commands)
        if reply[0][0] is None:  # the keys of a running server were deleted
            self._connection.check_identity()
            reply = self._connection.read(*commands)
        self.epoch, self.position = (int(value) for value in reply[0])
        for word, (cursor, texts) in zip(self._texts, reply[1:], strict=True):
            self._add(word, int(cursor), texts)

    def read_others(self) -> bool:
        is_large = bool(self._cursors)
        while self._cursors:
            word, cursor = next(iter(self._cursors.items()))
            ((following, texts),) = self._connection.read(_scan(word, cursor))
            self._add(word, int(following), texts)
        return is_large

    def catch_up(self, snapshot: Snapshot) -> Snapshot | None:
        """Apply the log entries since the first pages. Returns None if the log lacks some or an epoch began."""
        ((epoch, last),) = self._connection.read(("HMGET", "meta", "epoch", "position"))
        if epoch is None or int(epoch) != snapshot.epoch:
            return None
        position = snapshot.position
        while position < int(last):
            entries = log.follow(self._connection, position, 0, PAGE)
            if not entries or any(entry.kind == "epoch" for entry in entries):
                return None
            for entry in entries:
                _apply(snapshot, entry)
            position = entries[-1].position
        return replace(snapshot, position=position)

    def snapshot(self) -> Snapshot:
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
                namespace: {
                    name: documents.decode_state(text)[1] for name, text in texts[state_word(namespace)].items()
                }
                for namespace in self._namespaces
            },
        )

    def _add(self, word: str, cursor: int, texts: Mapping[str, str]) -> None:
        self._texts[word].update(texts)
        self._cursors.pop(word, None)
        if cursor:
            self._cursors[word] = cursor


def _scan(word: str, cursor: int) -> Sequence[Any]:
    return "HSCAN", word, cursor, "COUNT", PAGE


def _decode_provider(text: str) -> Mapping[str, Any]:
    return documents.decode(text, "provider")


def _apply(snapshot: Snapshot, entry: LogEntry) -> None:
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
    if entry.kind == "service":  # a removed service has no further entries that end its liveness
        for host in (host for host, service in entry.payload.items() if service is None):
            parts["alive"].pop(host, None)
            parts["opened"].pop(host, None)


def _update(part: Any, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        if value is None:
            part.pop(name, None)
        else:
            part[name] = value
