# SPDX-License-Identifier: Apache-2.0
"""The first migration alone: a partition that it created can be served after the later ones."""

import importlib
import pkgutil

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, exc, inspect, text

from scheduler_svc.store.sql.migrations import versions
from scheduler_svc.store.sql.migrations.versions import v0001_first_tables as first
from scheduler_svc.store.sql.tables import METADATA
from tests.unit.scheduler_svc.store.sql.connections import open_partition

MODULES = sorted(module.name for module in pkgutil.iter_modules(versions.__path__))


def test_migrations_form_one_chain_that_begins_with_the_first_tables() -> None:
    former = None
    for name in MODULES:
        module = importlib.import_module(f"{versions.__name__}.{name}")
        assert name.startswith(f"v{module.revision}_")
        assert module.down_revision == former
        former = module.revision
    assert MODULES[0] == "v0001_first_tables"


def test_partition_of_the_first_tables_is_served_after_later_migrations() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        first.upgrade()
        assert set(inspect(connection).get_table_names()) <= set(METADATA.tables)
        connection.execute(text("INSERT INTO partitions VALUES ('p1', 'one', 4, 9, 2)"))
        statement = text("INSERT INTO providers (partition, name, used) VALUES ('p1', 'h1', :used)")
        connection.execute(statement, {"used": '{"VCPU":3}'})
        for name in MODULES[1:]:
            importlib.import_module(f"{versions.__name__}.{name}").upgrade()
        partition = open_partition(connection)
        assert (partition.epoch, partition.position, partition.time_ms) == (4, 9, None)
        assert partition.used["h1"] == {"VCPU": 3}
    engine.dispose()


def test_rows_have_all_counters_of_their_partition() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection, Operations.context(MigrationContext.configure(connection)):
        first.upgrade()
        with pytest.raises(exc.IntegrityError):
            connection.execute(text("INSERT INTO partitions (name, identity, epoch) VALUES ('p1', 'one', 4)"))
    engine.dispose()
