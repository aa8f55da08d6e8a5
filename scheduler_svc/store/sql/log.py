# SPDX-License-Identifier: Apache-2.0
"""The log of a partition, as rows."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from rpcapi import errors
from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA, Entry
from scheduler_svc.store.sql.tables import LOG

LOTS = 64  # in which a log's length is trimmed: what each verb deletes, each verb pays for


def read(connection: Connection, partition: str, position: int, limit: int) -> list[Entry]:
    """Return entries after ``position``; raises IncompatibleObject where a newer gantt wrote one."""
    wanted = select(LOG).where(LOG.c.partition == partition, LOG.c.position > position)
    found = []
    for row in connection.execute(wanted.order_by(LOG.c.position).limit(limit)):
        if row.schema != SCHEMA:
            raise errors.IncompatibleObject(name="stored log entry", version=row.schema, supported=SCHEMA)
        found.append(Entry(row.position, row.kind, json.loads(row.payload)))
    return found


def write(connection: Connection, partition: str, entries: Sequence[Entry]) -> None:
    """Append entries."""
    rows = [
        {"position": entry.position, "kind": entry.kind, "payload": documents.encode(entry.payload)}
        for entry in entries
    ]
    connection.execute(insert(LOG), [{"partition": partition, "schema": SCHEMA, **row} for row in rows])


def trim(connection: Connection, partition: str, before: int, position: int, length: int) -> None:
    """Drop what is beyond ``length``, when ``position`` has come into another lot since ``before``."""
    lot = max(1, length // LOTS)
    if before // lot != position // lot:
        connection.execute(delete(LOG).where(LOG.c.partition == partition, LOG.c.position <= position - length))
