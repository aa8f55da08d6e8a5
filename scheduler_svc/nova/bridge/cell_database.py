# SPDX-License-Identifier: Apache-2.0
"""Database of one cell: its URL, and incremental reads of compute services and compute nodes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, or_, select, true
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from scheduler_svc import databases
from scheduler_svc.databases import DatabaseUnusable
from scheduler_svc.nova.bridge import tables
from scheduler_svc.nova.bridge.documents import ComputeNode
from scheduler_svc.nova.bridge.host_keys import host_keys

R = TypeVar("R")

COMPUTE = "nova-compute"
# Of a resize whose instance is at its destination, while the source keeps its allocation.
UNCONFIRMED = ("finished", "confirming")
RESIZES = ("resize", "migration")  # migration types
# Each read starts this long before the last known change: Nova's times come from the clocks of many machines, have a
# resolution of one second in MariaDB, and precede the commit of their transactions.
OVERLAP = timedelta(seconds=60)
ANSWER_SECONDS = 20
BATCH = 1000  # rows in memory before they are decoded
EVERY_ROW = true()


class CellDatabase:
    """Compute services and compute nodes of one cell, as of the last read."""

    def __init__(self, url: str) -> None:
        """Raises DatabaseUnusable."""
        self._engine = databases.open_engine(url, ANSWER_SECONDS)
        self._services = _Copy[Row[Any]](
            tables.SERVICES, lambda row: row if row.host else None, tables.SERVICES.c.binary == COMPUTE
        )
        self._nodes = _Copy(tables.COMPUTE_NODES, _node)
        # (host, node) of the source of each unconfirmed resize.
        self._resizes = _Copy(tables.MIGRATIONS, _source, loaded=tables.MIGRATIONS.c.status.in_(UNCONFIRMED))

    @property
    def services(self) -> list[Row[Any]]:
        """Rows of the compute services that are not deleted."""
        return list(self._services.records.values())

    @property
    def nodes(self) -> list[ComputeNode]:
        numbers = Counter(self._resizes.records.values())
        return [_with_resizes(node, numbers[node.host, node.node]) for node in self._nodes.records.values()]

    def on_hosts(self, instances: Sequence[str]) -> set[str]:
        """Return the given instances that exist and have a host. Raises SQLAlchemy's errors."""
        columns = tables.INSTANCES.c
        statement = select(columns.uuid).where(columns.uuid.in_(instances), columns.deleted == 0, columns.host != "")
        with databases.reading(self._engine) as connection:
            return set(connection.execute(statement).scalars())

    def read(self, *, everything: bool) -> None:
        """Read the changes of all tables, or ``everything``, from one snapshot. Raises SQLAlchemy's errors."""
        with databases.reading(self._engine) as connection:
            for copy in (self._services, self._nodes, self._resizes):
                copy.read(connection, everything=everything)


class _Copy(Generic[R]):
    """Decoded rows of one table that are not deleted; ``decode`` returns None for rows to ignore.

    ``condition`` selects rows by columns that never change; ``loaded`` limits full reads to rows that matter.
    """

    def __init__(
        self,
        table: Table,
        decode: Callable[[Row[Any]], R | None],
        condition: ColumnElement[bool] = EVERY_ROW,
        *,
        loaded: ColumnElement[bool] = EVERY_ROW,
    ) -> None:
        self.records: dict[int, R] = {}
        self._table = table
        self._decode = decode
        self._statement = select(table).where(condition)
        self._loaded = loaded
        self._rows: dict[int, Row[Any]] = {}
        self._changed: datetime | None = None  # time of the latest known change

    def read(self, connection: Connection, *, everything: bool) -> None:
        """Apply the changed rows, or reload all that are not deleted."""
        columns = self._table.c
        if everything or self._changed is None:
            loaded = self._statement.where(self._loaded, columns.deleted == 0)
            present = {row.id for row in self._stored(connection, loaded)}
            for row_id in self._rows.keys() - present:
                self._remove(row_id)
            return
        since = self._changed - OVERLAP
        times = (columns.updated_at, columns.created_at, columns.deleted_at)
        changed = self._statement.where(or_(*(time >= since for time in times)))
        for row in self._stored(connection, changed.order_by(func.coalesce(times[0], times[1]), columns.id)):
            if row.deleted:
                self._remove(row.id)

    def _stored(self, connection: Connection, statement: Select[Any]) -> Iterator[Row[Any]]:
        """Yield the statement's rows, after decoding and storing new and changed rows."""
        for row in connection.execute(statement, execution_options={"yield_per": BATCH}):
            times = [time for time in (row.updated_at, row.created_at, row.deleted_at) if time is not None]
            self._changed = max([*times, *([] if self._changed is None else [self._changed])], default=None)
            if not row.deleted and self._rows.get(row.id) != row:
                self._rows[row.id] = row
                record = self._decode(row)
                if record is None:
                    self.records.pop(row.id, None)
                else:
                    self.records[row.id] = record
            yield row

    def _remove(self, row_id: int) -> None:
        self._rows.pop(row_id, None)
        self.records.pop(row_id, None)


def _source(row: Row[Any]) -> tuple[str, str] | None:
    is_unconfirmed = row.migration_type in RESIZES and row.status in UNCONFIRMED
    return (row.source_compute, row.source_node) if is_unconfirmed else None


def _with_resizes(node: ComputeNode, number: int) -> ComputeNode:
    if not number:
        return node
    metrics = {**node.host_keys["metrics"], "unconfirmed_resizes": number}
    return replace(node, host_keys={**node.host_keys, "metrics": metrics})


def _node(row: Row[Any]) -> ComputeNode | None:
    if not (row.uuid and row.host and row.hypervisor_hostname):
        return None
    return ComputeNode(row.uuid, row.host, row.hypervisor_hostname, host_keys(row))


def cell_url(connection: str, template: str = "", username: str = "", password: str = "") -> str:
    """Return the URL of a cell's database. Raises DatabaseUnusable with a message without the password.

    Args:
        connection: database_connection of the cell mapping.
        template: URL whose parts replace {username}, {hostname} and so on in ``connection``; '' if it has none.
        username: Replaces, with ``password``, the credentials of the mapping; '' keeps them.
    """
    text = _fill(template, connection) if template else connection
    if not username:
        return text
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUnusable("database_connection is not a URL that SQLAlchemy can read") from error
    if url.get_backend_name() != "sqlite":  # SQLite files have no users
        url = url.set(username=username, password=password)
    return url.render_as_string(hide_password=False)


def _fill(template: str, connection: str) -> str:
    parts = urlsplit(template)
    values = {
        "username": parts.username,
        "password": parts.password,
        "hostname": parts.hostname,
        "port": parts.port,
        "scheme": parts.scheme,
        "path": parts.path.lstrip("/"),
        "query": parts.query,
        "fragment": parts.fragment,
    }
    try:
        return connection.format(**values)
    except (LookupError, ValueError, AttributeError) as error:
        raise DatabaseUnusable(f"database_connection is not a template of {', '.join(values)}") from error
