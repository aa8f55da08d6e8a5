# SPDX-License-Identifier: Apache-2.0
"""Partitions under test for the SQL backend: a new partition and its faults."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, create_engine, delete, insert, select, update
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import NullPool

from scheduler_svc.store.sql import SqlStore, tables
from tests.support.store.store_partition import StorePartition, own_time, server_partition

Rows = Mapping[str, list[dict[str, Any]]]


def sql_partition(url: str, *, partition: str | None = None, **options: Any) -> StorePartition:
    """Return a partition, by default a new one; its time is the database's, so use short lifetimes."""
    store = SqlStore(url, partition or uuid.uuid4().hex[:12], **options)
    return server_partition(store, SqlFaults(url, store.partition))


class SqlFaults:
    """Fault injection for a partition in a SQL database, by changing its rows."""

    def __init__(self, url: str, partition: str) -> None:
        self._engine = engine(url)
        is_sqlite = self._engine.dialect.name == "sqlite"
        self._partition = partition
        self._clock = (
            "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
            if is_sqlite
            else "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        )

    def now(self) -> int:
        """Return the partition's time in milliseconds, as the next verb will advance it."""
        with self._engine.connect() as connection:
            now_clock = int(connection.exec_driver_sql(self._clock).scalar_one())
            columns = (tables.PARTITIONS.c.time_ms, tables.PARTITIONS.c.clock_ms)
            row = connection.execute(self._own(select(*columns), tables.PARTITIONS)).one_or_none()
        time_ms, clock_ms = row or (None, None)
        return own_time(time_ms, clock_ms, now_clock)

    def step_clock(self, step_ms: int) -> None:
        """Step the database's clock, as the partition sees it: by the recorded reading."""
        values = {"clock_ms": tables.PARTITIONS.c.clock_ms - step_ms}
        with self._engine.begin() as connection:
            connection.execute(self._own(update(tables.PARTITIONS), tables.PARTITIONS).values(values))

    def change_server_identity(self) -> None:
        """Record another server's identity in the partition, as if that server had served it last."""
        with self._engine.begin() as connection:
            self._change_identity(connection)

    def mark(self) -> Rows:
        """Return a copy of the partition's data."""
        with self._engine.connect() as connection:
            return {
                table.name: [dict(row) for row in connection.execute(self._own(select(table), table)).mappings()]
                for table in tables.METADATA.sorted_tables
            }

    def restore(self, mark: Rows) -> None:
        """Restore the partition to ``mark``."""
        with self._engine.begin() as connection:
            for table in tables.METADATA.sorted_tables:
                connection.execute(self._own(delete(table), table))
                if mark[table.name]:
                    connection.execute(insert(table), mark[table.name])
            self._change_identity(connection)

    def pass_deadline_of(self, consumer: str) -> None:
        """Set the deadline of a consumer's claim to a time long past."""
        consumers = tables.CONSUMERS
        own = (consumers.c.partition == self._partition, consumers.c.name == consumer)
        with self._engine.begin() as connection:
            claim = json.loads(connection.execute(select(consumers.c.claim).where(*own)).scalar_one())
            text = json.dumps({**claim, "deadline_ms": 1}, separators=(",", ":"), sort_keys=True)
            connection.execute(update(consumers).where(*own).values(claim=text))
            has_deadline = consumers.c.deadline_ms.is_not(None)
            connection.execute(update(consumers).where(*own, has_deadline).values(deadline_ms=1))

    def _change_identity(self, connection: Connection) -> None:
        partitions = tables.PARTITIONS
        own = partitions.c.name == self._partition
        connection.execute(update(partitions).where(own).values(identity="another"))

    def _own(self, statement: Any, table: Table) -> Any:
        return statement.where((table.c.name if table is tables.PARTITIONS else table.c.partition) == self._partition)


def engine(url: str) -> Engine:
    """Return a SQLAlchemy engine for the database."""
    parsed = make_url(url)
    driver = "postgresql+psycopg" if parsed.get_backend_name() == "postgresql" else "sqlite"
    return create_engine(parsed.set(drivername=driver), poolclass=NullPool)
