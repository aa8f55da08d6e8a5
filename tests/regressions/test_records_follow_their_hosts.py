# SPDX-License-Identifier: Apache-2.0
"""Records of a fenced host, of a host with a lost journal, and with a forgotten write, show what is true of the host.

The fence, the audit and the loss change no record: the conductor may be down at that moment. It showed a state that
was not the host's, forever.
"""

from dataclasses import replace
from typing import Any

import pytest

from rpcapi.resources import names
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, history, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with one ACTIVE instance."""
    simulated = SimulatedCluster(THREE)
    simulated.conductor()
    simulated.build([UUID])
    simulated.settle()
    assert simulated.statuses([UUID]) == ["ACTIVE"]
    return simulated


def host_of(cluster: SimulatedCluster) -> str:
    return names.host_of(cluster.record(UUID).host or "")


def test_instance_of_a_fenced_host_goes_to_error(cluster: SimulatedCluster) -> None:
    host = host_of(cluster)
    cluster.ledger.store.fence(host, "token-1", force=True)
    cluster.reconciler().run_once()
    assert cluster.statuses([UUID]) == ["ERROR"]
    assert cluster.reason(UUID) == f"host {host} was fenced"
    assert history(cluster, UUID) == [(1, f"{host}/n", "lost")]
    # A late report of the fenced host does not bring it back, and it can be deleted
    cluster.hosts.guests.clear()
    cluster.delete([UUID])
    cluster.settle()
    cluster.check([UUID])


def test_instance_of_a_host_that_lost_its_journal_goes_to_error(cluster: SimulatedCluster) -> None:
    # Given an audit in which the host reports nothing, so that the claim is released after its grace
    host, comparison = host_of(cluster), cluster.reconciler()
    epoch = cluster.ledger.store.snapshot().epoch
    cluster.ledger.store.audit(host, epoch, [], 0)
    # When records are compared twice, since the report of its end might have been on its way the first time
    comparison.run_once()
    assert cluster.statuses([UUID]) == ["ACTIVE"]
    comparison.run_once()
    # Then the record says what is true
    assert cluster.statuses([UUID]) == ["ERROR"]
    assert cluster.reason(UUID) == f"host {host} no longer runs it: its claim was released"


def test_deleted_instance_whose_record_came_back_goes_to_error(cluster: SimulatedCluster) -> None:
    # Given a conductor's store that forgot a deletion
    before = cluster.record(UUID)
    cluster.delete([UUID])
    cluster.settle()
    assert cluster.statuses([UUID]) == ["DELETED"]
    restore(cluster, before)
    comparison = cluster.reconciler()
    for _ in range(2):
        comparison.run_once()
    assert cluster.statuses([UUID]) == ["ERROR"]
    assert "its claim was released" in cluster.reason(UUID)


def test_record_that_forgot_an_attempt_adopts_its_claim(cluster: SimulatedCluster) -> None:
    # Given an instance that runs as attempt 2 on another host, and a record that forgot this
    before = cluster.record(UUID)
    cluster.delete([UUID])
    cluster.settle()
    other = next(node for node in THREE if node != before.host)
    snapshot = cluster.ledger.store.snapshot()
    prepare(cluster, other, attempt=2, epoch=snapshot.epoch)
    cluster.ledger.store.confirm(names.host_of(other), [ClaimRef(UUID, 2)])
    cluster.hosts.guests[ClaimRef(UUID, 2)] = other
    restore(cluster, before)
    # When records are compared
    cluster.reconciler().run_once()
    cluster.settle()
    # Then the record names the attempt and host that run
    record = cluster.record(UUID)
    assert (record.status, record.attempt, record.host) == ("ACTIVE", 2, other)


def test_unknown_claims_change_no_record(cluster: SimulatedCluster) -> None:
    comparison = cluster.reconciler()
    # Given a store that forgot the claim, in a new epoch, and then one whose hosts have all audited
    del cluster.ledger.store.state.claims[UUID]
    cluster.ledger.forget()
    for _ in range(2):
        comparison.run_once()
    for host in ("h1", "h2", "h3"):
        cluster.ledger.store.audit(host, cluster.ledger.store.snapshot().epoch, [], 0)
    for _ in range(2):
        comparison.run_once()
    assert cluster.statuses([UUID]) == ["ACTIVE"]


def restore(cluster: SimulatedCluster, record: Any) -> None:
    current = cluster.record(UUID)
    cluster.store.write_without_lease([replace(record, version=current.version)], wake=False)
    assert cluster.statuses([UUID]) == ["ACTIVE"]


def prepare(cluster: SimulatedCluster, node: str, attempt: int, epoch: int) -> None:
    batch = ClaimBatch(
        request_id="r",
        project="p",
        user="u",
        resources={"VCPU": 1},
        intents=[Intent(UUID, attempt, [Candidate(node)])],
        epoch=epoch,
        position=cluster.ledger.store.snapshot().position,
        ttl_ms=60_000,
        alternates=2,
    )
    assert cluster.ledger.store.prepare(batch).prepared[0].host == node
