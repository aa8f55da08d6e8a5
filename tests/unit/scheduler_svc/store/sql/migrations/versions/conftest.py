# SPDX-License-Identifier: Apache-2.0
"""A database that is migrated step by step."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, create_engine

from scheduler_svc.store.sql.migrations import versions

Migrate = Callable[[str, str], None]


@pytest.fixture
def connection() -> Iterator[Connection]:
    """Connection to an empty database, in which migrations can run."""
    engine = create_engine("sqlite://")
    with engine.connect() as opened_connection, Operations.context(MigrationContext.configure(opened_connection)):
        yield opened_connection
    engine.dispose()


@pytest.fixture
def migrate(connection: Connection) -> Migrate:
    """Return a function that runs the migrations between two revisions, the first one excluded."""

    def run(after: str, until: str) -> None:
        for info in sorted(pkgutil.iter_modules(versions.__path__)):
            module = importlib.import_module(f"{versions.__name__}.{info.name}")
            if after < module.revision <= until:
                module.upgrade()

    return run
