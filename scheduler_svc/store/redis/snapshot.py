# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a partition in Redis, read in pages so that neither the server nor a process handles all at once.

The first pages of all hashes are read in one transaction with the log's position. A small partition is complete then.
The further pages of a large one are read one by one, while others write; the log entries since the first pages are
applied to them in the end. They have absolute values, so it does not matter which of them a page already contains
(https://redis.io/docs/latest/commands/scan: what is in a hash during the whole iteration is returned).
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.store import documents
from scheduler_svc.store.redis import log
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import state_word

PAGE = 1000  # fields of a hash that one command reads, approximately
ATTEMPTS = 5  # to read a partition whose log is shorter than what is written meanwhile, or that begins epochs

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


def snapshot(connection: RedisConnection, namespaces: Collection[str]) -> Snapshot:
    """Return a copy of the state that replicas hold.

    Raises StoreUnavailable where the partition changes faster than it can be read, and IncompatibleObject, for
    providers when they are read from the snapshot.
    """
    for _ in range(ATTEMPTS):
        pages = _Pages(connection, namespaces)
        pages.read_first()
        is_large = pages.read_others()
        complete = pages.catch_up(pages.snapshot()) if is_large else pages.snapshot()
        if complete is not None:
            connection.identity.observe(complete.epoch, complete.position)
            return complete
    raise errors.StoreUnavailable(
        why=f"partition {connection.partition!r} changed too fast for {ATTEMPTS} attempts to read a snapshot; "
        "with a larger [store] log_length it may change more meanwhile"
    )


class _Pages:
    """One attempt to read a partition."""

    def __init__(self, connection: RedisConnection, namespaces: Collection[str]) -> None:
        self._connection = connection
        self._namespaces = namespaces
        self._texts: dict[str, dict[str, str]] = {word: {} for word in (*_WORDS, *map(state_word, namespaces))}
        self._cursors: dict[str, int] = {}  # of the hashes that have more pages
        self.epoch = self.position = 0

    def read_first(self) -> None:
        """Read the first page of each hash, all at one moment."""
        commands = [("HMGET", "meta", "epoch", "position"), *(_scan(word, 0) for word in self._texts)]
        reply = self._connection.read(*commands)
        if reply[0][0] is None:  # the keys were deleted while the server kept running
            self._connection.check_identity()
            reply = self._connection.read(*commands)
        self.epoch, self.position = (int(value) for value in reply[0])
        for word, (cursor, texts) in zip(self._texts, reply[1:], strict=True):
            self._add(word, int(cursor), texts)

    def read_others(self) -> bool:
        """Read the other pages; return whether there were any."""
        is_large = bool(self._cursors)
        while self._cursors:
            word, cursor = next(iter(self._cursors.items()))
            ((following, texts),) = self._connection.read(_scan(word, cursor))
            self._add(word, int(following), texts)
        return is_large

    def catch_up(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the snapshot after all log entries up to now; None where the log no longer has them all."""
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
