# SPDX-License-Identifier: Apache-2.0
"""Access to the databases of other services: MariaDB or MySQL, PostgreSQL, SQLite."""

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

# Installed driver of each backend. It replaces the driver in an OpenStack service's URL, which may not be installed.
DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
CONNECT_SECONDS = 5
EPOCH, MILLISECOND = datetime(1970, 1, 1), timedelta(milliseconds=1)


class DatabaseUnusable(Exception):
    """Raised when a URL's database cannot be opened; the message contains no password."""


def open_engine(url: str, answer_seconds: int | None = None) -> Engine:
    """Return an engine that connects for each use; ``answer_seconds`` limits answers. Raises DatabaseUnusable."""
    try:
        parsed = make_url(url)
        driver = DRIVERS.get(parsed.get_backend_name(), parsed.drivername)
        arguments = {} if answer_seconds is None else _limits(parsed.get_backend_name(), answer_seconds)
        engine = create_engine(parsed.set(drivername=driver), poolclass=NullPool, connect_args=arguments)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as error:
        raise DatabaseUnusable(f"the database cannot be opened: {first_line(error)}") from error
    _check_file(parsed)
    return engine


@contextlib.contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a read-only transaction on one snapshot of the database. Raises SQLAlchemy's errors."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("PRAGMA query_only = ON")
            connection.exec_driver_sql("BEGIN")
        elif engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        yield connection
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("ROLLBACK")


def milliseconds(moment: datetime | None) -> int:
    """Convert a UTC time of OpenStack's databases to ms since 1970; None becomes 0."""
    return 0 if moment is None else (moment - EPOCH) // MILLISECOND


def first_line(error: Exception) -> str:
    """Return the first line of an error's message: without the statement and its values."""
    return str(error).strip().split("\n", 1)[0]


def _limits(backend: str, answer_seconds: int) -> dict[str, Any]:
    connect_seconds = min(answer_seconds, CONNECT_SECONDS)
    match backend:
        case "mysql" | "mariadb":
            return {"connect_timeout": connect_seconds, "read_timeout": answer_seconds, "write_timeout": answer_seconds}
        case "postgresql":
            return {
                "connect_timeout": connect_seconds,
                "options": f"-c statement_timeout={1000 * answer_seconds}",
                "tcp_user_timeout": 1000 * answer_seconds,
            }
        case _:
            return {"timeout": answer_seconds}


def _check_file(url: URL) -> None:
    """Raise DatabaseUnusable for a missing SQLite file, which SQLite would create."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise DatabaseUnusable(f"there is no file {url.database}")
