# SPDX-License-Identifier: Apache-2.0
"""Copies from gantt to a Placement database, and both ways."""

from pathlib import Path
from typing import Any

import pytest

from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.differences import differences
from scheduler_svc.placement.migration.dump import PlacementDump, times_of
from scheduler_svc.placement.migration.export import export
from scheduler_svc.placement.migration.failures import CopyRefused
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.placement.migration.switchover import Switchover
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import (
    VOCABULARIES,
    CreateProvider,
    DeleteProvider,
    ProviderState,
    SetAggregates,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from tests.support.placement.placement_database import CHILD, PlacementFile, uuid_for
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import StorePartition


@pytest.fixture
def partition(database: PlacementFile) -> StorePartition:
    """A partition into which the database was imported."""
    partition = memory_partition(namespaces=VOCABULARIES)
    reader = StoreReader(partition.store)
    source = DatabaseReader(PlacementDatabase(database.url))
    assert Switchover(source.read, reader.read, StoreWriter(partition.store), Report()).copy()
    return partition


def read(database: PlacementFile) -> PlacementDump:
    return DatabaseReader(PlacementDatabase(database.url)).read()


def send_back(partition: StorePartition, database: PlacementFile, **options: Any) -> bool:
    return export(StoreReader(partition.store), PlacementDatabase(database.url), Report(), **options)


def provider(name: str) -> str:
    return names.api_provider(uuid_for(name))


def change(partition: StorePartition) -> None:
    """Change one of each as clients of gantt would."""
    store = partition.store
    store.change_provider(CreateProvider(provider("new"), "new", provider("pool")))
    store.change_provider(SetInventories(provider("new"), {"CUSTOM_BAY": Inventory(4, min_unit=2)}, 0))
    store.change_provider(SetTraits(provider("pool"), ["CUSTOM_FAST", "CUSTOM_NEW"]))
    store.change_provider(SetInventories(provider("pool"), {"DISK_GB": Inventory(20, allocation_ratio=1.5)}))
    store.change_provider(UpdateProvider(provider(CHILD), name="moved", parent=provider("pool")))
    parts = {provider("new"): {"CUSTOM_BAY": 2}, provider("pool"): {"DISK_GB": 1}}
    changes = [
        AllocationChange(uuid_for("vm-1"), {}, "project-1", "user-1", ANY),
        AllocationChange(uuid_for("vm-2"), parts, "project-3", "user-2", ANY, "MIGRATION"),
        AllocationChange(uuid_for("vm-3"), parts, "project-1", "user-1", None, "INSTANCE"),
    ]
    assert store.allocate(changes) is None
    assert not isinstance(store.change_provider(DeleteProvider(provider("host-1"))), str)


def test_what_clients_changed_is_written_back(partition: StorePartition, database: PlacementFile) -> None:
    change(partition)
    assert send_back(partition, database)
    source, target = StoreReader(partition.store).read(), read(database)
    assert list(differences(source, target)) == []
    assert (source.providers, source.consumers) == (target.providers, target.consumers)
    moved = target.providers[uuid_for(CHILD)]
    assert (moved.name, moved.parent) == ("moved", uuid_for("pool"))
    assert uuid_for("host-1") not in target.providers


def test_what_clients_removed_is_removed(partition: StorePartition, database: PlacementFile) -> None:
    store = partition.store
    assert store.allocate([AllocationChange(uuid_for("vm-1"), {}, "project-1", "user-1", ANY)]) is None
    for removal in (
        SetTraits(provider("host-1"), []),
        SetAggregates(provider("host-1"), []),
        SetInventories(provider("host-1"), {"MEMORY_MB": Inventory(4)}),
        SetInventories(provider(CHILD), {}),
    ):
        assert isinstance(store.change_provider(removal), ProviderState)
    assert send_back(partition, database)
    target = read(database)
    host = target.providers[uuid_for("host-1")]
    assert (host.traits, host.aggregates, set(host.inventories)) == (set(), set(), {"MEMORY_MB"})
    assert target.providers[uuid_for(CHILD)].inventories == {}
    assert set(target.consumers) == {uuid_for("vm-2")}


@pytest.mark.parametrize(("first", "second"), [("pool", "host-1"), ("host-1", "pool")])
def test_name_that_became_free_is_written(
    partition: StorePartition, database: PlacementFile, first: str, second: str
) -> None:
    partition.store.change_provider(UpdateProvider(provider(first), name="former"))
    partition.store.change_provider(UpdateProvider(provider(second), name=first))
    assert send_back(partition, database)
    target = read(database).providers
    assert (target[uuid_for(first)].name, target[uuid_for(second)].name) == ("former", first)


def test_exchanged_names_are_written(partition: StorePartition, database: PlacementFile) -> None:
    pairs = [("pool", "x"), ("host-1", "y"), (CHILD, "pool"), ("pool", "host-1"), ("host-1", CHILD)]
    for uuid, name in pairs:
        partition.store.change_provider(UpdateProvider(provider(uuid), name=name))
    assert send_back(partition, database)
    target = read(database).providers
    assert [target[uuid_for(name)].name for name in ("pool", "host-1", CHILD)] == ["host-1", CHILD, "pool"]


def test_nothing_is_written_if_exchanged_names_cannot_be(partition: StorePartition, database: PlacementFile) -> None:
    partition.add_host("h1")
    for name, parent in (("x", None), ("pool", "h1")):  # the database does not get the parent
        partition.store.change_provider(UpdateProvider(provider("host-1"), name=name, parent=parent))
        partition.store.change_provider(UpdateProvider(provider("pool"), name="host-1"))
    before = database.path.read_bytes()
    with pytest.raises(CopyRefused, match=f"{uuid_for('host-1')} gave up its name"):
        send_back(partition, database)
    assert database.path.read_bytes() == before


def test_times_are_written(partition: StorePartition, database: PlacementFile) -> None:
    change(partition)
    empty = PlacementFile(database.path.with_name("empty.sqlite"))
    for target in (database, empty):
        assert send_back(partition, target)
        source, copied = StoreReader(partition.store).read(), read(target)
        for records, others in ((source.providers, copied.providers), (source.consumers, copied.consumers)):
            assert {key: times_of(record) for key, record in records.items()} == {
                key: times_of(record) for key, record in others.items()
            }


def test_the_roots_of_trees_are_written(partition: StorePartition, database: PlacementFile) -> None:
    change(partition)
    assert send_back(partition, database)
    with database.connect() as connection:
        rows = connection.execute("SELECT id, name, root_provider_id FROM resource_providers").fetchall()
    pool = next(number for number, name, _root in rows if name == "pool")
    assert {name: root for _number, name, root in rows} == {"pool": pool, "moved": pool, "new": pool}


def test_an_unchanged_copy_writes_nothing_back(partition: StorePartition, database: PlacementFile) -> None:
    before = database.path.read_bytes()
    assert send_back(partition, database)
    assert database.path.read_bytes() == before


def test_there_and_back_and_there_again_is_the_same(
    partition: StorePartition, database: PlacementFile, tmp_path: Path
) -> None:
    change(partition)
    empty = PlacementFile(tmp_path / "empty.sqlite")
    assert send_back(partition, empty)
    again = memory_partition(namespaces=VOCABULARIES)
    source = DatabaseReader(PlacementDatabase(empty.url))
    assert Switchover(source.read, StoreReader(again.store).read, StoreWriter(again.store), Report()).copy()
    first, second = StoreReader(partition.store).read(), StoreReader(again.store).read()
    assert (first.providers, first.consumers) == (second.providers, second.consumers)
    again.check()


def test_a_dry_run_writes_nothing(partition: StorePartition, database: PlacementFile) -> None:
    change(partition)
    before = read(database)
    assert send_back(partition, database, dry_run=True)
    after = read(database)
    assert (before.providers, before.consumers, before.names) == (after.providers, after.consumers, after.names)


def test_an_empty_store_is_not_exported(database: PlacementFile) -> None:
    empty = memory_partition(namespaces=VOCABULARIES)
    with pytest.raises(CopyRefused, match="no imported or client-created provider"):
        send_back(empty, database)
    assert len(read(database).providers) == 3


def test_what_is_held_from_agents_hosts_is_reported(partition: StorePartition, database: PlacementFile) -> None:
    partition.add_host("h1")
    request = AllocationChange(uuid_for("vm-4"), {"h1": {"VCPU": 1}}, "project-1", "user-1", None, "INSTANCE")
    assert partition.store.allocate([request]) is None
    assert not send_back(partition, database)
    assert uuid_for("vm-4") not in read(database).consumers


def test_a_schema_without_consumer_types_is_written(partition: StorePartition, database: PlacementFile) -> None:
    database.execute("ALTER TABLE consumers DROP COLUMN consumer_type_id")
    database.execute("DROP TABLE consumer_types")
    assert send_back(partition, database)
    assert {consumer.type for consumer in read(database).consumers.values()} == {""}
