# SPDX-License-Identifier: Apache-2.0
"""Connections to a Placement database: MariaDB or MySQL, PostgreSQL, SQLite."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from scheduler_svc.switching import placement_tables as tables
from scheduler_svc.switching.failures import PlacementUnavailable

DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
# Older schemas lack them: consumers had no types before revision 422ece571366.
OPTIONAL = {tables.CONSUMER_TYPES.name}


class PlacementDatabase:
    """A Placement database, of any schema from the one that has all needed tables on."""

    def __init__(self, url: str) -> None:
        """Raises PlacementUnavailable where ``url`` is none, or names a file that does not exist."""
        self._engine = _engine(url)
        self.dialect = self._engine.dialect.name

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a read-only transaction that sees the database as of one moment; raises PlacementUnavailable."""
        with self._failures(), self._engine.connect() as connection:
            if self.dialect == "sqlite":
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("PRAGMA query_only = ON")
                connection.exec_driver_sql("BEGIN")
            elif self.dialect == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            else:
                connection.execution_options(isolation_level="REPEATABLE READ")
                connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            self._check_tables(connection)
            yield connection
            if self.dialect == "sqlite":
                connection.exec_driver_sql("ROLLBACK")

    @contextlib.contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[Connection]:
        """Open a transaction, rolled back after an error or without ``commit``; raises PlacementUnavailable."""
        with self._failures(), self._engine.connect() as connection:
            self._check_tables(connection)
            yield connection
            if commit:
                connection.commit()

    def _check_tables(self, connection: Connection) -> None:
        missing = tables.METADATA.tables.keys() - set(inspect(connection).get_table_names()) - OPTIONAL
        if missing:
            raise PlacementUnavailable(f"it is no Placement database: it has no table {', '.join(sorted(missing))}")

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise PlacementUnavailable(f"the database does not answer: {_first_line(error)}") from error


def has_consumer_types(connection: Connection) -> bool:
    """Return whether consumers have types."""
    columns = {column["name"] for column in inspect(connection).get_columns(tables.CONSUMERS.name)}
    return tables.CONSUMERS.c.consumer_type_id.name in columns


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        driver = DRIVERS.get(parsed.drivername, parsed.drivername)
        engine = create_engine(parsed.set(drivername=driver), poolclass=NullPool)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as error:
        raise PlacementUnavailable(f"the database cannot be opened: {_first_line(error)}") from error
    _check_file(parsed)
    return engine


def _check_file(url: URL) -> None:
    """Raise PlacementUnavailable where SQLite would make a new file."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise PlacementUnavailable(f"there is no file {url.database}")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
