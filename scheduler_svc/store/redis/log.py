# SPDX-License-Identifier: Apache-2.0
"""Snapshot and log of a partition in Redis."""

import json
from collections.abc import Collection
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, log
from scheduler_svc.store.records import SCHEMA, Entry, Snapshot
from scheduler_svc.store.redis.connect import BLOCK_MS, Connection
from scheduler_svc.store.redis.keys import prefix, state_key


def snapshot(connection: Connection, namespaces: Collection[str]) -> Snapshot:
    """Return all that a replica needs, from one atomic look; of declared namespaces those named."""
    head = prefix(connection.partition)

    def fill(pipe: Any) -> None:
        pipe.hmget(head + "meta", "epoch", "position")
        for word in ("providers", "used", "services", "alive", "opened"):
            pipe.hgetall(head + word)
        for namespace in namespaces:
            pipe.hgetall(state_key(connection.partition, namespace))

    found = connection.read(fill)
    if found[0][0] is None:  # emptied under a server that stayed
        connection.know_identity()
        found = connection.read(fill)
    (epoch, position), providers, used, services, alive, opened, *states = found
    connection.identity.saw(int(epoch), int(position))
    return Snapshot(
        epoch=int(epoch),
        position=int(position),
        providers={name: documents.decode(text, "provider") for name, text in providers.items()},
        used={name: json.loads(text) for name, text in used.items()},
        services={name: documents.decode(text, "service") for name, text in services.items()},
        alive={name: value == "1" for name, value in alive.items()},
        opened={host: int(value) for host, value in opened.items()},
        states={
            namespace: {name: documents.decode_state(text)[1] for name, text in raw.items()}
            for namespace, raw in zip(namespaces, states, strict=True)
        },
    )


def follow(connection: Connection, position: int, block_ms: int, limit: int) -> list[Entry] | None:
    """Return the entries after ``position``, waiting up to ``block_ms`` for the first; None means a gap.

    Entries tell by their own positions whether some are missing before them, so that one read is enough where there
    are any; only where none come the log's last position is asked for.
    """
    head = prefix(connection.partition)
    after: dict[Any, Any] = {head + "log": f"{position}-0"}  # redis-py wants a union of key types
    if block_ms > 0:
        # One read that blocks for ever is 0 to Redis: at least a millisecond, at most what the socket allows.
        waited = min(max(block_ms, 1), BLOCK_MS)
        found = _entries(connection.wait(lambda client: client.xread(after, count=limit, block=waited)))
        if found:
            return _seen(connection, position, found, found[-1].position)

    def fill(pipe: Any) -> None:
        pipe.hget(head + "meta", "position")
        pipe.xread(after, count=limit)

    newest, streams = connection.read(fill)
    return _seen(connection, position, _entries(streams), int(newest or 0))


def _seen(connection: Connection, position: int, found: list[Entry], newest: int) -> list[Entry] | None:
    if found:
        connection.identity.saw(0, found[-1].position)
    return log.without_gap(position, found, newest)


def _entries(streams: Any) -> list[Entry]:
    return [_entry(entry_id, fields) for _stream, entries in streams or () for entry_id, fields in entries]


def _entry(entry_id: str, fields: dict[str, str]) -> Entry:
    """Read an entry; raises IncompatibleObject where a newer gantt wrote it. The first ones did not tell theirs."""
    schema = int(fields.get("schema", SCHEMA))
    if schema != SCHEMA:
        raise errors.IncompatibleObject(name="stored log entry", version=schema, supported=SCHEMA)
    return Entry(int(entry_id.partition("-")[0]), fields["kind"], json.loads(fields["body"]))
