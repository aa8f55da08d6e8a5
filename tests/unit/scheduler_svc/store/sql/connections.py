# SPDX-License-Identifier: Apache-2.0
"""A database in memory with the tables of the SQL backend, for tests of single modules."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine

from scheduler_svc.store.sql.tables import METADATA

PARTITION, OTHER = "p1", "p2"


@contextmanager
def connect() -> Iterator[Connection]:
    """Return a context manager that yields a connection to a new, empty database."""
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()
