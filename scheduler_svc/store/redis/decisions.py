# SPDX-License-Identifier: Apache-2.0
"""The bounded decision record in Redis."""

import re
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, validation
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import prefix

_ENTRY_ID = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")  # longer ids are out of Redis' range


class RedisDecisions(Store):
    """The verbs on decisions."""

    _connection: RedisConnection

    def _record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        self._connection.run(
            "decide",
            request_id=request_id,
            project=project_of(document),
            decision=documents.encode({**document, "schema": SCHEMA}),
            decision_bytes=self._decision_bytes,
        )

    def _find_decision(self, request_id: str, project: str | None) -> dict[str, Any]:
        head = prefix(self.partition)
        keys = [f"{request_id}\0{project}"] if project else []
        entry_ids = self._connection.read(lambda pipe: pipe.hmget(head + "decided", [*keys, request_id]))[0]
        for entry_id in filter(None, entry_ids):
            if entries := self._entries_of(head + "decisions", entry_id):
                return documents.decode(entries[0][1]["document"], "decision")
        raise errors.UnknownDecision(request_id=request_id)

    def _entries_of(self, key: str, entry_id: str) -> list[Any]:
        """Return the stream's entry of that id, unless it was dropped."""
        entries: list[Any] = self._connection.read(lambda pipe: pipe.xrange(key, entry_id, entry_id))[0]
        return entries

    def _list_decisions(self, marker: str | None, limit: int) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        if marker is not None and not _ENTRY_ID.fullmatch(marker):
            raise validation.refuse(
                f"{marker[:60]!r} is not a decision marker; use the marker that the previous page returned"
            )
        after = "-" if marker is None else f"({marker}"
        key = prefix(self.partition) + "decisions"
        entries = self._connection.read(lambda pipe: pipe.xrange(key, after, "+", count=limit + 1))[0]
        shown = [
            (fields["request_id"], documents.decode(fields["document"], "decision")) for _id, fields in entries[:limit]
        ]
        return shown, entries[limit - 1][0] if len(entries) > limit else None
