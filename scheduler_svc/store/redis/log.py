# SPDX-License-Identifier: Apache-2.0
"""Reads of a partition's log in Redis."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import redis

from rpcapi import errors
from scheduler_svc.core.records import Amounts, BatchAnswer, LogEntry
from scheduler_svc.store import log
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.redis.connect import BLOCK_MS, RedisConnection
from scheduler_svc.store.redis.keys import prefix


def follow(connection: RedisConnection, position: int, block_ms: int, limit: int) -> list[LogEntry] | None:
    """Return log entries after ``position``, or None for a gap; wait up to ``block_ms`` for the first entry."""
    if block_ms > 0:
        after: dict[Any, Any] = {connection.head + "log": f"{position}-0"}  # redis-py requires a union of key types
        # Block for at least 1 ms (0 would block forever), and for less than the socket's timeout.
        wait_ms = min(max(block_ms, 1), BLOCK_MS)
        streams: Any = connection.wait(lambda client: client.xread(after, count=limit, block=wait_ms))
        if streams:
            entries = [_entry(*row) for row in streams[0][1]]
            return _without_gap(connection, position, entries, entries[-1].position)
    newest, rows = connection.read(("HGET", "meta", "position"), ("XRANGE", "log", *_after(position, limit)))
    return _without_gap(connection, position, [_entry(*row) for row in rows], int(newest or 0))


def _without_gap(
    connection: RedisConnection, position: int, entries: list[LogEntry], newest: int
) -> list[LogEntry] | None:
    if entries:
        connection.identity.observe(0, entries[-1].position)
    return log.without_gap(position, entries, newest)


def read_command(partition: str, position: int) -> Sequence[Any]:
    return "XRANGE", f"{prefix(partition)}log", *_after(position, log.CARRIED_ENTRIES)


def _after(position: int, limit: int) -> Sequence[Any]:
    return f"({position}-0", "+", "COUNT", limit


def carried(position: int, raw: Any, outcomes: Iterable[BatchAnswer | errors.GanttError]) -> list[LogEntry] | None:
    """Decode the answer to a ``read_command`` that was sent after batches; None for a gap or an error.

    Sums of the batches' own entries are taken from ``outcomes``, which saves decoding them again.
    """
    if isinstance(raw, redis.ResponseError):
        return None
    answers = [outcome for outcome in outcomes if isinstance(outcome, BatchAnswer)]
    own_sums = {answer.position: answer.used for answer in answers if answer.used}
    try:
        entries = [
            _own_entry(entry_id, own_sums) or _entry(entry_id, dict(zip(fields[::2], fields[1::2], strict=True)))
            for entry_id, fields in raw
        ]
    except errors.IncompatibleObject:
        return None  # do not fail valid claims: the log's follower will report the error
    newest = entries[-1].position if entries else max((answer.position for answer in answers), default=position)
    return log.without_gap(position, entries, newest)


def _own_entry(entry_id: str, own_sums: Mapping[int, Mapping[str, Amounts]]) -> LogEntry | None:
    position = _position(entry_id)
    return LogEntry(position, "used", own_sums[position]) if position in own_sums else None


def _position(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])


def _entry(entry_id: str, fields: dict[str, str]) -> LogEntry:
    schema = int(fields["schema"])
    if schema != SCHEMA:
        raise errors.IncompatibleObject(name="stored log entry", version=schema, supported=SCHEMA)
    return LogEntry(_position(entry_id), fields["kind"], json.loads(fields["body"]))
