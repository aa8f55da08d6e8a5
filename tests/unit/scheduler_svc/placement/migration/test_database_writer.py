# SPDX-License-Identifier: Apache-2.0
"""What is written to a Placement database, and what is refused."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, select, update

from scheduler_svc.placement.migration import placement_tables as tables
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import NAME_TABLES, DatabaseReader
from scheduler_svc.placement.migration.database_writer import DatabaseWriter
from scheduler_svc.placement.migration.dump import CustomNameKind, PlacementDump
from scheduler_svc.store.allocations import ConsumerImport
from tests.support.placement.placement_database import CHILD, PlacementFile, uuid_for

HOST, POOL = uuid_for("host-1"), uuid_for("pool")
FAST, SLOT = (CustomNameKind.TRAIT, "CUSTOM_FAST"), (CustomNameKind.RESOURCE_CLASS, "CUSTOM_SLOT")


@pytest.fixture
def before(database: PlacementFile) -> PlacementDump:
    return read(database)


@pytest.fixture
def connection(database: PlacementFile, before: PlacementDump) -> Iterator[Connection]:
    """A transaction that ends with the test."""
    with PlacementDatabase(database.url).transaction() as connection:
        yield connection


@pytest.fixture
def writer(connection: Connection) -> DatabaseWriter:
    return DatabaseWriter(connection)


def read(database: PlacementFile) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(database.url)).read()


def names(connection: Connection, table: Table) -> set[str]:
    return set(connection.scalars(select(table.c.name)))


def ended(*records: ConsumerImport) -> list[ConsumerImport]:
    """Return consumers that no longer hold anything."""
    return [replace(record, allocations={}) for record in records]


def test_resource_classes_get_the_ids_that_placement_expects(tmp_path: Path) -> None:
    empty = PlacementFile(tmp_path / "empty.sqlite")
    with PlacementDatabase(empty.url).transaction() as connection:
        writer = DatabaseWriter(connection)
        for name in ("CUSTOM_B", "MEMORY_MB", "CUSTOM_A", "VCPU", "NEWER_THAN_GANTT"):
            writer.put_name(CustomNameKind.RESOURCE_CLASS, name, 1000)
        rows_of = select(tables.RESOURCE_CLASSES.c.id, tables.RESOURCE_CLASSES.c.name)
        rows = connection.execute(rows_of)
        ids = {"VCPU": 0, "MEMORY_MB": 1, "CUSTOM_B": 10_000, "CUSTOM_A": 10_001, "NEWER_THAN_GANTT": 10_002}
        assert {row.name: row.id for row in rows} == ids
        connection.execute(update(tables.RESOURCE_CLASSES).values(id=2).where(tables.RESOURCE_CLASSES.c.id == 10_000))
        DatabaseWriter(connection).put_name(CustomNameKind.RESOURCE_CLASS, "DISK_GB", 1000)  # whose id another one has
        assert connection.scalar(rows_of.where(tables.RESOURCE_CLASSES.c.name == "DISK_GB")) == 10_003


@pytest.mark.parametrize(("kind", "table"), list(NAME_TABLES.items()))
def test_name_that_nothing_refers_to_is_created_and_deleted(
    writer: DatabaseWriter, connection: Connection, kind: CustomNameKind, table: Table
) -> None:
    present = names(connection, table)
    for _ in range(2):  # so also a name that was deleted before
        writer.put_name(kind, "CUSTOM_NEW", 1000)
        writer.put_name(kind, "CUSTOM_OTHER", 1000)
        assert names(connection, table) == present | {"CUSTOM_NEW", "CUSTOM_OTHER"}
        writer.delete_name(kind, "CUSTOM_NEW")
        assert names(connection, table) == present | {"CUSTOM_OTHER"}
    writer.delete_name(kind, "CUSTOM_UNKNOWN")
    assert names(connection, table) == present | {"CUSTOM_OTHER"}


def test_name_that_something_refers_to_stays(
    writer: DatabaseWriter, connection: Connection, before: PlacementDump
) -> None:
    for kind, name in (FAST, SLOT):
        writer.delete_name(kind, name)
    assert names(connection, tables.TRAITS) >= {"CUSTOM_FAST"} and names(connection, tables.RESOURCE_CLASSES) >= {
        "CUSTOM_SLOT"
    }

    # A class of which there are only allocations
    child = before.providers[uuid_for(CHILD)]
    assert writer.put_providers([replace(child, inventories={})]) == {}
    writer.delete_name(*SLOT)
    assert names(connection, tables.RESOURCE_CLASSES) >= {"CUSTOM_SLOT"}

    # And nothing
    assert writer.put_consumers(ended(*before.consumers.values())) == {}
    writer.delete_name(*SLOT)
    assert "CUSTOM_SLOT" not in names(connection, tables.RESOURCE_CLASSES)


def test_provider_below_an_unknown_one_is_refused(
    writer: DatabaseWriter, connection: Connection, before: PlacementDump
) -> None:
    orphan = replace(before.providers[POOL], provider=uuid_for("new"), name="new", parent=uuid_for("gone"))
    assert writer.put_providers([orphan]) == {orphan.provider: f"its parent {uuid_for('gone')} does not exist"}
    assert len(names(connection, tables.PROVIDERS)) == 3


def test_name_of_another_provider_is_refused(writer: DatabaseWriter, before: PlacementDump) -> None:
    named_alike = replace(before.providers[POOL], name="host-1")
    assert writer.put_providers([named_alike]) == {POOL: f"its name belongs to {HOST}"}
    assert writer.put_providers([before.providers[POOL]]) == {}  # its own


def test_provider_in_use_is_not_deleted(writer: DatabaseWriter, connection: Connection, before: PlacementDump) -> None:
    assert writer.delete_provider(HOST) == "there are providers below it"
    assert writer.delete_provider(POOL) == "consumers have allocations on it"
    assert writer.put_consumers(ended(*before.consumers.values())) == {}
    assert writer.delete_provider(POOL) is None
    assert names(connection, tables.PROVIDERS) == {"host-1", CHILD}


def test_deleted_provider_leaves_no_rows_and_may_be_created_again(
    writer: DatabaseWriter, connection: Connection, before: PlacementDump
) -> None:
    writer.put_consumers(ended(*before.consumers.values()))
    for uuid in (uuid_for(CHILD), HOST, POOL):
        assert writer.delete_provider(uuid) is None
    for table in (tables.INVENTORIES, tables.PROVIDER_TRAITS, tables.PROVIDER_AGGREGATES, tables.PROVIDERS):
        assert connection.execute(select(table)).all() == []
    assert writer.put_providers([replace(before.providers[POOL], generation=9)]) == {}
    assert connection.execute(select(tables.PROVIDERS.c.name, tables.PROVIDERS.c.generation)).all() == [("pool", 9)]


def test_ended_consumers_leave_no_rows(writer: DatabaseWriter, connection: Connection, before: PlacementDump) -> None:
    first, second = before.consumers.values()
    writer.put_consumers(ended(first))
    assert list(connection.scalars(select(tables.CONSUMERS.c.uuid))) == [second.consumer]
    assert set(connection.scalars(select(tables.ALLOCATIONS.c.consumer_id))) == {second.consumer}


def test_roots_of_all_trees_are_written(writer: DatabaseWriter, connection: Connection, before: PlacementDump) -> None:
    assert writer.put_providers([replace(before.providers[uuid_for(CHILD)], parent=POOL)]) == {}
    writer.finish()
    root = tables.PROVIDERS.alias()
    pairs = select(tables.PROVIDERS.c.name, root.c.name).join(root, tables.PROVIDERS.c.root_provider_id == root.c.id)
    roots = {tuple(row) for row in connection.execute(pairs)}
    assert roots == {("host-1", "host-1"), ("pool", "pool"), (CHILD, "pool")}
