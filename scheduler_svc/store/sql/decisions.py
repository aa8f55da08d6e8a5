# SPDX-License-Identifier: Apache-2.0
"""Decision record in SQL: one row per decision, bounded in total size."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from scheduler_svc.store import documents
from scheduler_svc.store.decisions import project_of, record_bytes
from scheduler_svc.store.sql.tables import DECISIONS

TRIM_EVERY = 16  # decisions between two deletions of old rows


class SqlDecisions:
    """Decision record of a partition. ``decision`` is the number of the newest decision."""

    decision: int
    _connection: Connection
    _name: str

    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        """Append a decision, and drop the oldest decisions beyond ``most`` bytes.

        Drops only at every TRIM_EVERY-th decision, because deletions are costly.
        """
        text, project = documents.encode(document), project_of(document)
        until_bytes = self._until_bytes() + record_bytes(request_id, project, text)
        self.decision += 1
        row = {
            "partition": self._name,
            "number": self.decision,
            "request": request_id,
            "project": project,
            "document": text,
            "until_bytes": until_bytes,
        }
        self._connection.execute(insert(DECISIONS), row)
        if self.decision % TRIM_EVERY == 0:
            own = (DECISIONS.c.partition == self._name, DECISIONS.c.until_bytes <= until_bytes - most)
            self._connection.execute(delete(DECISIONS).where(*own))

    def decision_of(self, request_id: str, project: str | None = None) -> dict[str, Any] | None:
        own = [DECISIONS.c.partition == self._name, DECISIONS.c.request == request_id]
        own += [] if project is None else [DECISIONS.c.project == project]
        query = select(DECISIONS.c.document).where(*own).order_by(DECISIONS.c.number.desc()).limit(1)
        text = self._connection.scalar(query)
        return None if text is None else documents.decode(text, "decision")

    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        own = (DECISIONS.c.partition == self._name, DECISIONS.c.number > number)
        rows = self._connection.execute(select(DECISIONS).where(*own).order_by(DECISIONS.c.number).limit(limit))
        return [(row.number, row.request, documents.decode(row.document, "decision")) for row in rows]

    def _until_bytes(self) -> int:
        """Return the total bytes of all decisions so far, including dropped ones."""
        own = (DECISIONS.c.partition == self._name, DECISIONS.c.number == self.decision)
        return self._connection.scalar(select(DECISIONS.c.until_bytes).where(*own)) or 0
