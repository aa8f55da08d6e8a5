# SPDX-License-Identifier: Apache-2.0
"""Sources of migrations that have ended: their hosts end them, unless the guest may be the only copy."""

from dataclasses import replace

import pytest

from conductor.collaborators import ServiceClients
from conductor.reconciliation import leaked_migrations, orphans
from conductor.store.memory import MemoryConductorStore
from conductor.store.migrations import MigrationRecord
from conductor.store.records import StoreTimeouts
from rpcapi import errors, objects
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import CTXT, LEASE_MS, THREE, SimulatedCluster, uuid_list

INSTANCE, OTHER, MOVE = uuid_list(3)
SOURCE = ClaimRef(INSTANCE, 1)
ENDED = (MigrationStatus.CONFIRMED, MigrationStatus.REVERTED, MigrationStatus.ERROR, MigrationStatus.CANCELLED)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster whose first instance was moved from h1; its claim on h1 is still the source of a migration."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build([INSTANCE, OTHER])
    created.settle()
    created.ledger.store.begin_moves([SOURCE], [MOVE])
    return created


def build_destination(cluster: SimulatedCluster) -> None:
    """Let the instance run as its second attempt on h2."""
    record = cluster.record(INSTANCE)
    cluster.ledger.hold(INSTANCE, "h2/n", 2, MoveEnd(ClaimRole.DESTINATION, MOVE, 1))
    cluster.hosts.guests[ClaimRef(INSTANCE, 2)] = "h2/n"
    assert not cluster.store.write_without_lease([replace(record, attempt=2, host="h2/n")], wake=False).stale


def put_migration(cluster: SimulatedCluster, status: MigrationStatus) -> None:
    migration = MigrationRecord(
        MOVE, INSTANCE, MigrationKind.MIGRATION, status=status, source_host="h1/n", source_attempt=1
    )
    record = replace(cluster.record(INSTANCE), migration=migration)
    assert not cluster.store.write_without_lease([record], wake=False).stale


def lose_records(cluster: SimulatedCluster) -> None:
    """Replace the store of records by an empty one, and its conductors."""
    cluster.store = MemoryConductorStore(StoreTimeouts(lease_ms=LEASE_MS), lambda: cluster.now_ms)
    cluster.conductors.clear()
    cluster.conductor()


def end(
    cluster: SimulatedCluster, host: str = "h1", uuid: str = INSTANCE, attempt: int = 1, ends_running: bool = True
) -> None:
    clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[attempt])
    leaked_migrations.end(
        make_conductor(cluster.store, clients), CTXT, PARTITION, host, refs, ends_running=ends_running
    )


def assert_refused(cluster: SimulatedCluster, message: str, **values: object) -> None:
    before = (cluster.ledger.live(), dict(cluster.hosts.guests), cluster.store.get([INSTANCE, OTHER]))
    with pytest.raises(errors.InstanceConflict, match=message):
        end(cluster, **values)  # type: ignore[arg-type]
    cluster.settle()
    assert (cluster.ledger.live(), dict(cluster.hosts.guests), cluster.store.get([INSTANCE, OTHER])) == before


@pytest.mark.parametrize("status", [*ENDED, None])
def test_guest_and_claim_at_the_source_are_ended(cluster: SimulatedCluster, status: MigrationStatus | None) -> None:
    build_destination(cluster)
    if status is not None:
        put_migration(cluster, status)
    for _ in range(2):
        end(cluster)
    cluster.settle()
    end(cluster)  # a repetition finds no claim
    assert cluster.hosts.queue == []
    cluster.check([INSTANCE, OTHER])
    assert cluster.statuses([INSTANCE, OTHER]) == ["ACTIVE"] * 2


@pytest.mark.parametrize("status", [*ENDED, None])
def test_guest_that_runs_is_kept_without_consent(cluster: SimulatedCluster, status: MigrationStatus | None) -> None:
    build_destination(cluster)
    if status is not None:
        put_migration(cluster, status)
    assert_refused(cluster, "on h1/n may be running", ends_running=False)


def test_guest_that_is_off_is_ended_without_consent_if_the_migration_has_a_record(cluster: SimulatedCluster) -> None:
    build_destination(cluster)
    cluster.hosts.stopped.add(SOURCE)
    # Nobody knows whether the source of a forgotten migration has handed its disk over
    assert_refused(cluster, "has no record, and the guest on h1/n may be the original copy", ends_running=False)
    put_migration(cluster, MigrationStatus.CONFIRMED)
    end(cluster, ends_running=False)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


def test_claim_whose_guest_is_gone_is_released(cluster: SimulatedCluster) -> None:
    build_destination(cluster)
    del cluster.hosts.guests[SOURCE]
    end(cluster, ends_running=False)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


def test_migration_that_is_under_way_is_refused(cluster: SimulatedCluster) -> None:
    put_migration(cluster, MigrationStatus.MIGRATING)
    assert_refused(cluster, f"its migration {MOVE} is migrating")
    # And so is a release of its claim while its host has lost the guest
    del cluster.hosts.guests[SOURCE]
    clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
    with pytest.raises(errors.InstanceConflict, match=f"its migration {MOVE} is migrating; confirm or revert it"):
        orphans.release(
            make_conductor(cluster.store, clients), CTXT, "h1", objects.ClaimRefs.of(consumers=[INSTANCE], attempts=[1])
        )


def test_guest_that_may_be_the_only_copy_is_kept(cluster: SimulatedCluster) -> None:
    """Given a store that lost its tail: the migration has no record, and the instance an earlier one, or none."""
    assert_refused(cluster, "may be the only copy")
    # Nor is the guest that the record names ended for another claim
    cluster.ledger.hold(INSTANCE, "h2/n", 2, MoveEnd(ClaimRole.DESTINATION, MOVE, 1))
    assert_refused(cluster, "its record names the guest on h1/n")
    cluster.ledger.store.release("h2", [ClaimRef(INSTANCE, 2)])
    lose_records(cluster)
    assert_refused(cluster, "may be the only copy")


@pytest.mark.parametrize("status", ENDED)
def test_only_copy_is_kept_although_the_record_of_the_migration_ended(
    cluster: SimulatedCluster, status: MigrationStatus
) -> None:
    put_migration(cluster, status)
    assert_refused(cluster, "may be the only copy")
    # An offloaded instance has its image
    record = replace(cluster.record(INSTANCE), status=InstanceStatus.SHELVED_OFFLOADED, host=None)
    assert not cluster.store.write_without_lease([record], wake=False).stale
    end(cluster)
    cluster.settle()
    assert SOURCE not in cluster.hosts.guests


def test_guest_of_a_deleted_instance_is_ended_without_a_record_of_the_migration(cluster: SimulatedCluster) -> None:
    record = replace(cluster.record(INSTANCE), status=InstanceStatus.DELETED, host=None)
    assert not cluster.store.write_without_lease([record], wake=False).stale
    end(cluster)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"uuid": OTHER, "host": "h2"}, "its claim of attempt 1 is on h2/n, and its role only"),
        ({"host": "h2"}, "its claim of attempt 1 is on h1/n, and its role source"),
        ({"host": "h2", "attempt": 2}, "its claim of attempt 2 is on h2/n, and its role destination"),
    ],
)
def test_other_claims_are_refused(cluster: SimulatedCluster, values: dict[str, object], message: str) -> None:
    build_destination(cluster)
    assert_refused(cluster, message, **values)


def test_bad_names_and_silent_hosts_are_refused(cluster: SimulatedCluster) -> None:
    build_destination(cluster)
    with pytest.raises(errors.InvalidName):
        end(cluster, uuid="x")
    with pytest.raises(errors.InvalidName):
        end(cluster, host="")
    cluster.hosts.behaviours["h1"] = "lost"
    with pytest.raises(errors.Unavailable, match="no answer in time"):
        end(cluster)
    assert cluster.hosts.queue == []
