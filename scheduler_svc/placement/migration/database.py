# SPDX-License-Identifier: Apache-2.0
"""Connection to a Placement database: MariaDB or MySQL, PostgreSQL, SQLite."""

import contextlib
from collections.abc import Iterator

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import SQLAlchemyError

from scheduler_svc import databases
from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.placement.migration.failures import PlacementUnavailable

# Missing in older schemas: revision 422ece571366 added consumer types.
OPTIONAL = {tables.CONSUMER_TYPES.name}


class PlacementDatabase:
    def __init__(self, url: str) -> None:
        try:
            self._engine = databases.open_engine(url)
        except databases.DatabaseUnusable as error:
            raise PlacementUnavailable(str(error)) from error
        self.dialect = self._engine.dialect.name

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a read-only transaction on one snapshot. Raises PlacementUnavailable."""
        with self._failures(), databases.reading(self._engine) as connection:
            self._check_tables(connection)
            yield connection

    @contextlib.contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[Connection]:
        """Open a transaction; roll it back after an error or if not ``commit``. Raises PlacementUnavailable."""
        with self._failures(), self._engine.connect() as connection:
            self._check_tables(connection)
            yield connection
            if commit:
                connection.commit()

    def _check_tables(self, connection: Connection) -> None:
        missing = tables.METADATA.tables.keys() - set(inspect(connection).get_table_names()) - OPTIONAL
        if missing:
            raise PlacementUnavailable(f"it is not a Placement database: it has no table {', '.join(sorted(missing))}")

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise PlacementUnavailable(f"the database does not answer: {databases.first_line(error)}") from error


def has_consumer_types(connection: Connection) -> bool:
    columns = {column["name"] for column in inspect(connection).get_columns(tables.CONSUMERS.name)}
    return tables.CONSUMERS.c.consumer_type_id.name in columns
