# SPDX-License-Identifier: Apache-2.0
"""Reader of Nova's API database: cells, host mappings and aggregates."""

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from scheduler_svc import databases
from scheduler_svc.nova.bridge import tables
from scheduler_svc.nova.bridge.documents import Aggregate, CellMapping, Deployment

NO_HOSTS_CELL = "00000000-0000-0000-0000-000000000000"  # cell of instances without a host
ANSWER_SECONDS = 20


class ApiDatabase:
    """Reader of whole tables: they are small, and deleted rows leave no trace."""

    def __init__(self, url: str) -> None:
        """Raises DatabaseUnusable."""
        self._engine = databases.open_engine(url, ANSWER_SECONDS)

    def read(self) -> Deployment:
        """Read all cells, host mappings and aggregates from one snapshot. Raises SQLAlchemy's errors."""
        with databases.reading(self._engine) as connection:
            cells = {
                row.id: CellMapping(row.uuid, row.name, row.database_connection or "", bool(row.disabled))
                for row in _rows(connection, tables.CELL_MAPPINGS, "uuid", "name", "database_connection", "disabled")
            }
            host_cells = {
                row.host: cells[row.cell_id].uuid
                for row in _rows(connection, tables.HOST_MAPPINGS, "host", "cell_id")
                if row.cell_id in cells
            }
            aggregates = _aggregates(connection)
        by_uuid = {cell.uuid: cell for cell in cells.values() if cell.uuid != NO_HOSTS_CELL}
        return Deployment(by_uuid, host_cells, aggregates)


def _aggregates(connection: Connection) -> tuple[Aggregate, ...]:
    hosts: defaultdict[int, list[str]] = defaultdict(list)
    for row in _rows(connection, tables.AGGREGATE_HOSTS, "host", "aggregate_id"):
        if row.host:
            hosts[row.aggregate_id].append(row.host)
    metadata: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for row in _rows(connection, tables.AGGREGATE_METADATA, "key", "value", "aggregate_id"):
        metadata[row.aggregate_id][row.key] = row.value
    return tuple(
        Aggregate(row.uuid, row.name, tuple(sorted(hosts[row.id])), metadata[row.id])
        for row in _rows(connection, tables.AGGREGATES, "uuid", "name")
        if row.uuid
    )


def _rows(connection: Connection, table: Table, *columns: str) -> list[Row[Any]]:
    return list(connection.execute(select(table.c.id, *(table.c[column] for column in columns)).order_by(table.c.id)))
