# SPDX-License-Identifier: Apache-2.0
"""Several partitions: claims are processed in the partition that the scheduler returned."""

from dataclasses import replace

import pytest

from conductor.store.records import InstanceRecord
from rpcapi import errors
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.resources.transient import PARTITION_JUST_AWAY
from tests.support.conductor.simulated_cluster import SimulatedCluster, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster({"h1/n": 2, "h2/n": 2})
    created.conductor()
    return created


def record(cluster: SimulatedCluster) -> InstanceRecord:
    return cluster.record(UUID)


def test_refusal_with_unavailable_partition_is_retried(cluster: SimulatedCluster) -> None:
    away = {PARTITION_JUST_AWAY: 3}
    cluster.scheduler.lose = [errors.NoValidHost(reason=f"3 {PARTITION_JUST_AWAY}", reasons=away) for _ in range(2)]
    cluster.build([UUID])
    cluster.settle()
    assert record(cluster).status == "ACTIVE"
    assert len(cluster.scheduler.calls) == 3


def test_live_claim_of_other_attempt_is_settled_in_its_partition(cluster: SimulatedCluster) -> None:
    conflict = errors.ClaimConflict(consumer=UUID, attempt=1, why="conflict", host="h1/n", partition="cell2")
    cluster.scheduler.lose = [conflict]
    cluster.build([UUID])
    cluster.settle()
    assert (record(cluster).status, record(cluster).partition) == ("ACTIVE", "cell2")


def test_ended_claims_are_aborted_in_their_partition_before_next_attempt(cluster: SimulatedCluster) -> None:
    partitions: list[str] = []
    saga = cluster.conductors[0].saga
    clients = saga._clients

    def claims(partition: str) -> ClaimsAPI:
        partitions.append(partition)
        return clients.claims(partition)

    saga._clients = replace(clients, claims=claims)
    cluster.scheduler.lose = [errors.ClaimEnded(consumer=UUID, attempt=1, why="ended", partition="cell2")]
    cluster.build([UUID])
    cluster.settle()
    assert partitions[0] == "cell2"
    assert (record(cluster).status, record(cluster).attempt) == ("ACTIVE", 2)
