# SPDX-License-Identifier: Apache-2.0
"""The first migration alone; test_schema.py compares what all make with the tables in the code."""

import importlib
import pkgutil

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, exc, text

from scheduler_svc.store.sql.migrations import versions
from scheduler_svc.store.sql.migrations.versions import v0001_first_tables as first

MODULES = sorted(module.name for module in pkgutil.iter_modules(versions.__path__))


def test_migrations_form_one_chain_that_begins_with_the_first_tables() -> None:
    previous = None
    for name in MODULES:
        module = importlib.import_module(f"{versions.__name__}.{name}")
        assert name.startswith(f"v{module.revision}_")
        assert module.down_revision == previous
        previous = module.revision
    assert MODULES[0] == "v0001_first_tables"


def test_rows_have_all_counters_of_their_partition() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        first.upgrade()
        with pytest.raises(exc.IntegrityError):
            connection.execute(text("INSERT INTO partitions (name, identity, epoch) VALUES ('p1', 'one', 4)"))
    engine.dispose()
