# SPDX-License-Identifier: Apache-2.0
"""Release of claims that their host runs nothing under, and what refuses it."""

import pytest

from conductor.collaborators import ServiceClients
from conductor.reconciliation import orphans
from rpcapi import errors, objects
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import CTXT, THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)
HOSTS = ("h1", "h2")


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with two ACTIVE instances, on h1 and h2."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    assert [created.record(uuid).host for uuid in UUIDS] == [f"{host}/n" for host in HOSTS]
    return created


def release(cluster: SimulatedCluster, host: str, *uuids: str) -> None:
    clients = ServiceClients(cluster.scheduler, cluster.hosts, lambda partition: cluster.claims, PARTITION)  # type: ignore[arg-type, return-value]
    refs = objects.ClaimRefs.of(consumers=list(uuids), attempts=[1] * len(uuids))
    orphans.release(make_conductor(cluster.store, clients), CTXT, host, refs)


def lose_guest(cluster: SimulatedCluster, uuid: str) -> None:
    """Lose the guest with its host's journal: the claim is confirmed and nobody runs it."""
    del cluster.hosts.guests[ClaimRef(uuid, 1)]


def test_claim_without_a_guest_is_released_by_its_host_and_its_record_says_so(cluster: SimulatedCluster) -> None:
    lose_guest(cluster, UUIDS[0])
    release(cluster, "h1", UUIDS[0])
    cluster.settle()
    assert set(cluster.ledger.live()) == {UUIDS[1]}
    assert cluster.statuses(UUIDS) == ["ERROR", "ACTIVE"]
    assert "Its host h1 ended it" in cluster.reason(UUIDS[0])
    # a second operator's repetition changes nothing
    before = cluster.store.get(UUIDS)
    release(cluster, "h1", UUIDS[0])
    cluster.settle()
    assert cluster.store.get(UUIDS) == before


def test_claim_without_a_record_is_released(cluster: SimulatedCluster) -> None:
    (unrecorded,) = uuid_list(3)[2:]
    cluster.ledger.hold(unrecorded, "h1/n")
    release(cluster, "h1", unrecorded)
    cluster.settle()
    assert set(cluster.ledger.live()) == set(UUIDS)
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def test_attempt_that_the_host_has_is_refused(cluster: SimulatedCluster) -> None:
    lose_guest(cluster, UUIDS[0])
    cluster.hosts.guests[ClaimRef(UUIDS[1], 1)] = "h1/n"
    with pytest.raises(errors.InstanceConflict, match="host h1 has attempt 1"):
        release(cluster, "h1", *UUIDS)
    assert cluster.hosts.queue == []


@pytest.mark.parametrize("action", ["delete", "stop"])
def test_instance_with_a_step_under_way_is_refused(cluster: SimulatedCluster, action: str) -> None:
    lose_guest(cluster, UUIDS[0])
    getattr(cluster, action)(UUIDS[:1])
    with pytest.raises(errors.InstanceConflict, match="in progress; retry"):
        release(cluster, "h1", UUIDS[0])
    assert cluster.hosts.queue == []


def test_bad_names_and_silent_hosts_are_refused(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h1"] = "lost"
    for host, uuids, error in [
        ("h1", UUIDS[:1], errors.Unavailable),
        ("h1/n", UUIDS[:1], errors.InvalidName),
        ("h2", ["no uuid"], errors.InvalidName),
        ("h2", [], errors.InvalidCount),
    ]:
        with pytest.raises(error):
            release(cluster, host, *uuids)
    assert cluster.hosts.queue == []


def test_source_of_an_open_migration_is_refused(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS[:1])
    cluster.settle()
    migration = cluster.migration(UUIDS[0]).uuid
    lose_guest(cluster, UUIDS[0])
    with pytest.raises(errors.InstanceConflict, match=f"its migration {migration} is finished; confirm or revert it"):
        release(cluster, "h1", UUIDS[0])
    assert cluster.hosts.queue == []
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    cluster.check(UUIDS)
