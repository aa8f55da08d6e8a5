# SPDX-License-Identifier: Apache-2.0
"""The bounded record of decisions in Redis."""

import re
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, validation
from scheduler_svc.store.redis.connect import Connection
from scheduler_svc.store.redis.keys import prefix

_ENTRY_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")  # a longer one may be no number of Redis' any more


def find(connection: Connection, request_id: str) -> dict[str, Any]:
    """Return the newest decision of a request; raises UnknownDecision."""
    head = prefix(connection.partition)
    where = connection.read(lambda pipe: pipe.hget(head + "decided", request_id))[0]
    found = where and connection.read(lambda pipe: pipe.xrange(head + "decisions", where, where))[0]
    if not found:
        raise errors.UnknownDecision(request_id=request_id)
    _entry_id, fields = found[0]
    return documents.decode(fields["document"], "decision")


def page(connection: Connection, marker: str | None, limit: int) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Return decisions after the entry ``marker``, oldest first, and the next marker; raises InvalidRequest."""
    if marker is not None and not _ENTRY_ID.fullmatch(marker):
        raise validation.refuse(f"{marker[:60]!r} marks no decision; use the marker that the page before it gave")
    after = "-" if marker is None else f"({marker}"
    key = prefix(connection.partition) + "decisions"
    found = connection.read(lambda pipe: pipe.xrange(key, after, "+", count=limit + 1))[0]
    shown = [(fields["request_id"], documents.decode(fields["document"], "decision")) for _id, fields in found[:limit]]
    return shown, found[limit - 1][0] if len(found) > limit else None
