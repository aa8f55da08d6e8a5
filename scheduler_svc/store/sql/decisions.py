# SPDX-License-Identifier: Apache-2.0
"""Decision record of bounded size, one row per decision."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from scheduler_svc.store import documents
from scheduler_svc.store.decisions import project_of, record_bytes
from scheduler_svc.store.sql.tables import DECISIONS

TRIM_EVERY = 16  # decisions


def write(connection: Connection, partition: str, number: int, request_id: str, document: Mapping[str, Any]) -> None:
    text, project = documents.encode(document), project_of(document)
    row = {
        "partition": partition,
        "number": number,
        "request": request_id,
        "project": project,
        "document": text,
        "until_bytes": _until_bytes(connection, partition, number - 1) + record_bytes(request_id, project, text),
    }
    connection.execute(insert(DECISIONS), row)


def trim(connection: Connection, partition: str, newest: int, most: int) -> None:
    """Delete the oldest decisions beyond ``most`` bytes, once in TRIM_EVERY because deletes are costly."""
    if newest % TRIM_EVERY == 0:
        old = DECISIONS.c.until_bytes <= _until_bytes(connection, partition, newest) - most
        connection.execute(delete(DECISIONS).where(DECISIONS.c.partition == partition, old))


def _until_bytes(connection: Connection, partition: str, number: int) -> int:
    """Return the size of all decisions up to ``number``, deleted ones included."""
    own = (DECISIONS.c.partition == partition, DECISIONS.c.number == number)
    return connection.scalar(select(DECISIONS.c.until_bytes).where(*own)) or 0


def newest(connection: Connection, partition: str, request_id: str, project: str | None) -> dict[str, Any] | None:
    own = [DECISIONS.c.partition == partition, DECISIONS.c.request == request_id]
    own += [] if project is None else [DECISIONS.c.project == project]
    text = connection.scalar(select(DECISIONS.c.document).where(*own).order_by(DECISIONS.c.number.desc()).limit(1))
    return None if text is None else documents.decode(text, "decision")


def after(connection: Connection, partition: str, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
    own = (DECISIONS.c.partition == partition, DECISIONS.c.number > number)
    rows = connection.execute(select(DECISIONS).where(*own).order_by(DECISIONS.c.number).limit(limit))
    return [(row.number, row.request, documents.decode(row.document, "decision")) for row in rows]
