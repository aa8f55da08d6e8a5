# SPDX-License-Identifier: Apache-2.0
"""What migrations that have ended still hold at their source: their hosts end it, unless it may be the only copy."""

from dataclasses import replace

import pytest

from conductor.leaked_migrations import LeakedMigrations
from conductor.orphans import OrphanRelease
from conductor.service_clients import ServiceClients
from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from conductor.store.records import InstanceStatus
from rpcapi import errors, objects
from rpcapi.resources.claims import MIGRATION
from scheduler_svc.core.records import ClaimRef
from tests.unit.conductor.ledger import PARTITION
from tests.unit.conductor.saga.simulated_cluster import CTXT, THREE, SimulatedCluster, uuid_list

INSTANCE, OTHER, MOVE = uuid_list(3)
ENDED = (MigrationStatus.CONFIRMED, MigrationStatus.REVERTED, MigrationStatus.ERROR, MigrationStatus.CANCELLED)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster whose first instance was moved from h1 to h2; a migration still holds guest and claim on h1."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build([INSTANCE, OTHER])
    created.settle()
    created.ledger.store.move(ClaimRef(INSTANCE, 1), ClaimRef(MOVE, 1), MIGRATION)
    source = ClaimRef(MOVE, 1)
    created.hosts.guests[source] = created.hosts.guests.pop(ClaimRef(INSTANCE, 1))
    created.hosts.sources[source] = INSTANCE
    return created


def build_destination(cluster: SimulatedCluster) -> None:
    """Let the instance run as its second attempt on h2."""
    record = cluster.record(INSTANCE)
    cluster.ledger.hold(INSTANCE, "h2/n", attempt=2)
    cluster.hosts.guests[ClaimRef(INSTANCE, 2)] = "h2/n"
    assert not cluster.store.write_without_lease([replace(record, attempt=2, host="h2/n")], wake=False).stale


def put_migration(cluster: SimulatedCluster, status: MigrationStatus) -> None:
    migration = MigrationRecord(MOVE, INSTANCE, MigrationKind.MIGRATION, status=status, source_host="h1/n")
    record = replace(cluster.record(INSTANCE), migration=migration)
    assert not cluster.store.write_without_lease([record], wake=False).stale


def end(
    cluster: SimulatedCluster, host: str = "h1", uuid: str = MOVE, attempt: int = 1, ends_running: bool = True
) -> None:
    clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
    refs = objects.ClaimRefs.of(consumers=[uuid], attempts=[attempt])
    LeakedMigrations(cluster.store, clients, 1000).end(CTXT, PARTITION, host, refs, ends_running=ends_running)


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
    assert_refused(cluster, "may be running on h1", ends_running=False)


def test_guest_of_an_agent_that_does_not_say_its_state_counts_as_running(
    cluster: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_destination(cluster)
    put_migration(cluster, MigrationStatus.CONFIRMED)
    cluster.hosts.stopped.add(ClaimRef(MOVE, 1))
    present = cluster.hosts.list_owners
    monkeypatch.setattr(cluster.hosts, "list_owners", lambda *arguments: present(*arguments).with_values(states=[]))
    assert_refused(cluster, "may be running on h1", ends_running=False)


def test_guest_that_is_off_is_ended_without_consent_if_the_migration_has_a_record(cluster: SimulatedCluster) -> None:
    build_destination(cluster)
    cluster.hosts.stopped.add(ClaimRef(MOVE, 1))
    # Nobody knows whether the source of a forgotten migration has handed its disk over
    assert_refused(cluster, "has no record, and the guest on h1 may be the original copy", ends_running=False)
    put_migration(cluster, MigrationStatus.CONFIRMED)
    end(cluster, ends_running=False)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


def test_claim_whose_guest_is_gone_is_released(cluster: SimulatedCluster) -> None:
    build_destination(cluster)
    del cluster.hosts.guests[ClaimRef(MOVE, 1)]
    end(cluster, ends_running=False)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


def test_migration_that_is_under_way_is_refused(cluster: SimulatedCluster) -> None:
    put_migration(cluster, MigrationStatus.MIGRATING)
    assert_refused(cluster, f"its migration {MOVE} is migrating")
    # And so is a release of its claim while its host has lost the guest
    del cluster.hosts.guests[ClaimRef(MOVE, 1)]
    clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
    with pytest.raises(errors.InstanceConflict, match=f"its migration {MOVE} is migrating; confirm or revert it"):
        OrphanRelease(cluster.store, clients, 1000).release(
            CTXT, "h1", objects.ClaimRefs.of(consumers=[MOVE], attempts=[1])
        )


@pytest.mark.parametrize("has_record", [True, False])
def test_guest_that_may_be_the_only_copy_is_kept(cluster: SimulatedCluster, has_record: bool) -> None:
    """Given a store that lost its tail: the migration has no record, and the instance none or an earlier one."""
    if not has_record:
        cluster.hosts.sources[ClaimRef(MOVE, 1)] = uuid_list(9)[8]
    assert_refused(cluster, "may be the only copy")


def test_claim_is_kept_while_its_guest_may_run_under_its_former_identity(cluster: SimulatedCluster) -> None:
    """Given a host that missed the message about the hand-over of the claim to the migration."""
    build_destination(cluster)
    cluster.hosts.guests[ClaimRef(INSTANCE, 1)] = cluster.hosts.guests.pop(ClaimRef(MOVE, 1))
    for ends_running in (False, True):
        assert_refused(cluster, f"without a claim, maybe under that of {MOVE}; restart", ends_running=ends_running)


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
    assert ClaimRef(MOVE, 1) not in cluster.hosts.guests


def test_guest_of_a_deleted_instance_is_ended_without_a_record_of_the_migration(cluster: SimulatedCluster) -> None:
    record = replace(cluster.record(INSTANCE), status=InstanceStatus.DELETED, host=None)
    assert not cluster.store.write_without_lease([record], wake=False).stale
    end(cluster)
    cluster.settle()
    cluster.check([INSTANCE, OTHER])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"uuid": OTHER, "host": "h2"}, "of type INSTANCE, not a confirmed one of a migration"),
        ({"host": "h2"}, "its claim is attempt 1 on h1/n"),
        ({"attempt": 2}, "its claim is attempt 1 on h1/n"),
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
