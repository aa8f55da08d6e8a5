# SPDX-License-Identifier: Apache-2.0
"""Log of a partition in SQL: one row per entry."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.sql.tables import LOG
from scheduler_svc.store.verbs.partition import POSITION_LEAP

TRIMS = 64  # deletions while the log grows by its full length


def read(connection: Connection, partition: str, position: int, limit: int) -> list[LogEntry]:
    """Return up to ``limit`` entries after ``position``. Raises IncompatibleObject for another schema version."""
    query = select(LOG).where(LOG.c.partition == partition, LOG.c.position > position)
    entries = []
    for row in connection.execute(query.order_by(LOG.c.position).limit(limit)):
        if row.schema != SCHEMA:
            raise errors.IncompatibleObject(name="stored log entry", version=row.schema, supported=SCHEMA)
        entries.append(LogEntry(row.position, row.kind, json.loads(row.payload)))
    return entries


def write(connection: Connection, partition: str, entries: Sequence[LogEntry]) -> None:
    rows = [
        {"position": entry.position, "kind": entry.kind, "payload": documents.encode(entry.payload)}
        for entry in entries
    ]
    connection.execute(insert(LOG), [{"partition": partition, "schema": SCHEMA, **row} for row in rows])


def trim(connection: Connection, partition: str, before: int, position: int, length: int) -> None:
    """Delete entries beyond ``length``, but only every ``length // TRIMS`` positions, because deletions are costly.

    Deletes nothing when a new epoch's position leaps: replicas read older entries to learn what the store still has.
    """
    step = max(1, length // TRIMS)
    if before // step != position // step and position - before < POSITION_LEAP:
        connection.execute(delete(LOG).where(LOG.c.partition == partition, LOG.c.position <= position - length))


def trim_to(connection: Connection, partition: str, length: int) -> None:
    newest = select(LOG.c.position).where(LOG.c.partition == partition).order_by(LOG.c.position.desc())
    position = connection.scalar(newest.offset(length).limit(1))
    if position is not None:
        connection.execute(delete(LOG).where(LOG.c.partition == partition, LOG.c.position <= position))
