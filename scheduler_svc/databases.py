# SPDX-License-Identifier: Apache-2.0
"""Databases of other services: MariaDB or MySQL, PostgreSQL, SQLite."""

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

# The drivers that are installed. OpenStack's URLs name drivers too, which need not be the same.
DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
CONNECT_SECONDS = 5
EPOCH, MILLISECOND = datetime(1970, 1, 1), timedelta(milliseconds=1)


class DatabaseUnusable(Exception):
    """Raised when a URL names no database that can be opened; the text names no password."""


def open_engine(url: str, answer_seconds: int | None = None) -> Engine:
    """Return an engine that opens a connection when it is used, and closes it after; raises DatabaseUnusable.

    ``answer_seconds`` is how long a server may take to connect, at most CONNECT_SECONDS, and for one answer.
    """
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
    """Open a read-only transaction that sees the database as of one moment; raises what SQLAlchemy does."""
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
    """Return a time of OpenStack's databases, which has no zone but is UTC, in ms; 0 where it is not recorded."""
    return 0 if moment is None else (moment - EPOCH) // MILLISECOND


def first_line(error: Exception) -> str:
    """Return the first line of an error's text: the others have the statement and its values."""
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
    """Raise DatabaseUnusable where SQLite would make a new file."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise DatabaseUnusable(f"there is no file {url.database}")
