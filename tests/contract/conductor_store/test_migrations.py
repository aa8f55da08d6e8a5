# SPDX-License-Identifier: Apache-2.0
"""Records of migrations, which are written with their instances, in every back end of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.store.documents import dump_instance
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord
from rpcapi import errors
from rpcapi.resources.statuses import ENDED_MIGRATIONS, InstanceStatus, MigrationKind, MigrationStatus
from tests.support.conductor.bench import RETENTION_MS, StoreWithClock, request, take_lease

UUIDS = ["a", "b", "c"]
MIGRATION = MigrationRecord(
    uuid="m",
    instance="a",
    kind=MigrationKind.RESIZE,
    source_host="h/n",
    source_partition="cell",
    source_attempt=3,
    source_allocations={"h/n": {"VCPU": 2}},
    target="g",
    destination_host="g/n",
    destination_attempt=4,
    history=[{"attempt": 4, "host": "g/n", "outcome": "failed", "reason": "a 'quoted' \u00fc \n line"}],
    spec={"flavor": "large"},
    old_flavor="small",
    new_flavor="large",
    was_stopped=True,
    request_id="req-1",
    reason="because",
)


def write(bench: StoreWithClock, uuid: str, migration: MigrationRecord) -> InstanceRecord:
    """Write the instance with this migration; return its new record."""
    record = replace(bench.store.get([uuid])[uuid], migration=migration)
    assert not bench.store.write_without_lease([record], wake=False).stale
    return bench.store.get([uuid])[uuid]


@pytest.fixture(autouse=True)
def instances(bench: StoreWithClock) -> None:
    """Instances a, b and c."""
    bench.store.record(request(), UUIDS)


def test_migration_is_stored_with_its_instance_in_all_fields(bench: StoreWithClock) -> None:
    before = bench.now()
    assert write(bench, "a", MIGRATION).migration == MIGRATION
    (stored,) = bench.store.migrations(["m", "unknown"]).values()
    assert before <= stored.created_ms == stored.updated_ms <= bench.now()
    assert replace(stored, sequence=0, created_ms=0, updated_ms=0) == MIGRATION
    # When only the instance changes, then the migration does not
    bench.pass_time(5)
    write(bench, "a", MIGRATION)
    assert bench.store.migrations(["m"])["m"] == stored
    # When the migration changes, then its number and its time of creation stay
    write(bench, "a", replace(MIGRATION, status=MigrationStatus.FINISHED))
    changed = bench.store.migrations(["m"])["m"]
    assert changed.updated_ms > stored.updated_ms
    assert changed == replace(stored, status=MigrationStatus.FINISHED, updated_ms=changed.updated_ms)


def test_migration_is_not_written_with_a_stale_instance(bench: StoreWithClock) -> None:
    stale = bench.store.get(["a"])["a"]
    write(bench, "a", MIGRATION)
    result = bench.store.write_without_lease([replace(stale, migration=replace(MIGRATION, uuid="n"))], wake=False)
    assert result.stale == {"a"}
    assert not bench.store.migrations(["n"])


def test_migration_is_written_under_a_lease(bench: StoreWithClock) -> None:
    lease = take_lease(bench)
    first, *_ = bench.store.load(lease).instances
    bench.store.write(lease, [replace(first, migration=MIGRATION)])
    assert list(bench.store.migrations(["m"])) == ["m"]
    assert next(iter(bench.store.load(lease).instances)).migration == MIGRATION


def test_pages_are_in_the_order_of_creation(bench: StoreWithClock) -> None:
    for uuid in UUIDS:
        write(bench, uuid, replace(MIGRATION, uuid=f"m-{uuid}", instance=uuid))
    write(bench, "a", replace(MIGRATION, uuid="m-a", status=MigrationStatus.MIGRATING))
    page = bench.store.page_migrations(None, 2)
    assert [record.uuid for record in page.records] == ["m-a", "m-b"]
    assert page.records[0].status == MigrationStatus.MIGRATING
    page = bench.store.page_migrations(page.marker, 2)
    assert ([record.uuid for record in page.records], page.marker) == (["m-c"], None)
    with pytest.raises(errors.InvalidRequest, match="'x' is not a marker of a page of migrations"):
        bench.store.page_migrations("x", 2)


@pytest.mark.parametrize("status", MigrationStatus)
def test_only_ended_migrations_are_purged(bench: StoreWithClock, status: MigrationStatus) -> None:
    start_ms = bench.now()
    write(bench, "a", replace(MIGRATION, status=status))
    write(bench, "a", replace(MIGRATION, status=status, reason="another"))
    early = bench.store.purge()
    assert early == 0 or bench.now() - start_ms > RETENTION_MS  # a slow machine: the clock of Redis is a real one
    bench.pass_time(RETENTION_MS + 1)
    assert early + bench.store.purge() == (status in ENDED_MIGRATIONS)
    assert bool(bench.store.migrations(["m"])) == (status not in ENDED_MIGRATIONS)
    assert bool(bench.store.page_migrations(None, 9).records) == (status not in ENDED_MIGRATIONS)
    assert bench.store.purge() == 0
    assert bench.store.get(["a"])["a"].status == InstanceStatus.SCHEDULING


def test_instance_without_migration_is_stored_as_earlier_conductors_read_it() -> None:
    assert "migration" not in dump_instance(InstanceRecord("a", "req"))
