# SPDX-License-Identifier: Apache-2.0
"""Decision record on Redis."""

import re
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, validation
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.paging import Page
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.redis.connect import RedisConnection

_ENTRY_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")  # Redis rejects longer numbers


def record(connection: RedisConnection, request_id: str, document: Mapping[str, Any], most: int) -> None:
    connection.run(
        "decide",
        request_id=request_id,
        project=project_of(document),
        decision=documents.encode({**document, "schema": SCHEMA}),
        decision_bytes=most,
    )


def find(connection: RedisConnection, request_id: str, project: str | None) -> dict[str, Any]:
    keys = [f"{request_id}\0{project}"] if project else []
    (entry_ids,) = connection.read(("HMGET", "decided", *keys, request_id))
    for entry_id in filter(None, entry_ids):
        (entries,) = connection.read(("XRANGE", "decisions", entry_id, entry_id))
        if entries:  # the record's size limit may have dropped the entry
            return documents.decode(entries[0][1]["document"], "decision")
    raise errors.UnknownDecision(request_id=request_id)


def page(connection: RedisConnection, marker: str | None, limit: int) -> Page[tuple[str, dict[str, Any]]]:
    if marker is not None and not _ENTRY_ID.fullmatch(marker):
        raise validation.refuse(
            f"{marker[:60]!r} is not a decision marker; use the marker that the previous page returned"
        )
    after = "-" if marker is None else f"({marker}"
    (entries,) = connection.read(("XRANGE", "decisions", after, "+", "COUNT", limit + 1))
    shown = [
        (fields["request_id"], documents.decode(fields["document"], "decision")) for _id, fields in entries[:limit]
    ]
    return shown, entries[limit - 1][0] if len(entries) > limit else None
