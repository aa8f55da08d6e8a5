# SPDX-License-Identifier: Apache-2.0
"""The bounded decision record in Redis."""

import re
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, validation
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import prefix

_ENTRY_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")  # longer ids are out of Redis' range


def record(connection: RedisConnection, request_id: str, document: Mapping[str, Any], most: int) -> None:
    """Store a decision; drop the oldest while all have more than ``most`` bytes."""
    text = documents.encode({**document, "schema": SCHEMA})
    connection.run("decide", request_id=request_id, decision=text, decision_bytes=most)


def find(connection: RedisConnection, request_id: str) -> dict[str, Any]:
    """Return the newest decision of a request; raises UnknownDecision."""
    head = prefix(connection.partition)
    entry_id = connection.read(lambda pipe: pipe.hget(head + "decided", request_id))[0]
    entries = entry_id and connection.read(lambda pipe: pipe.xrange(head + "decisions", entry_id, entry_id))[0]
    if not entries:
        raise errors.UnknownDecision(request_id=request_id)
    _entry_id, fields = entries[0]
    return documents.decode(fields["document"], "decision")


def page(
    connection: RedisConnection, marker: str | None, limit: int
) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Return decisions after the entry ``marker``, oldest first, and the next marker; raises InvalidRequest."""
    if marker is not None and not _ENTRY_ID.fullmatch(marker):
        raise validation.refuse(
            f"{marker[:60]!r} is not a decision marker; use the marker that the previous page returned"
        )
    after = "-" if marker is None else f"({marker}"
    key = prefix(connection.partition) + "decisions"
    entries = connection.read(lambda pipe: pipe.xrange(key, after, "+", count=limit + 1))[0]
    shown = [
        (fields["request_id"], documents.decode(fields["document"], "decision")) for _id, fields in entries[:limit]
    ]
    return shown, entries[limit - 1][0] if len(entries) > limit else None
