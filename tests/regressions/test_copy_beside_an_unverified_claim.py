# SPDX-License-Identifier: Apache-2.0
"""After a rollback that nothing proved, a second copy started although a host had reported that it runs the first.

Its audit had made an unverified claim, which no later attempt of the consumer looked for.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor.store.records import SagaStep
from rpcapi import context, errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from tests.regressions.restorable_deployments import (
    Deployment,
    memory_deployment,
    redis_deployment,
    sqlite_deployment,
)
from tests.support.conductor.simulated_cluster import HORIZON_MS, THREE, SimulatedCluster, uuid_list
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY
from tests.support.store.store_partition import LONG_MS, StorePartition, running

REF = ClaimRef("vm", 1)
MINUTE_MS = 60_000


# -- in the store ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "redis", "sqlite"])
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition that was restored from a backup without a new epoch: vm runs on h1, unknown to the store."""
    deployment: Deployment
    if request.param == "memory":
        deployment = memory_deployment()
    elif request.param == "redis":
        deployment = redis_deployment(request.getfixturevalue("redis_server"))
    else:
        deployment = sqlite_deployment(tmp_path)
    for host in ("h1", "h2", "h3"):
        deployment.partition.add_host(host)
    restore = deployment.back_up()
    epoch = deployment.epoch
    deployment.partition.hold("vm", "h1")
    restore()
    assert deployment.epoch == epoch and deployment.partition.states() == {}
    yield deployment.partition
    deployment.partition.store.close()


def audit_h1(partition: StorePartition, *guests: ClaimRef) -> list[Answer]:
    epoch = partition.store.snapshot().epoch
    outcome = partition.store.audit("h1", epoch, [running(guest, "h1") for guest in guests], LONG_MS)
    return [result.answer for result in outcome.answers]


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(("attempt", "replaces"), [(1, None), (2, 1), (3, 2)])
def test_no_second_copy_is_prepared(partition: StorePartition, fresh: bool, attempt: int, replaces: int | None) -> None:
    # Given that h1 has reported its guest
    assert audit_h1(partition, REF) == [Answer.UNVERIFIED]
    # When the instance is selected again, or its attempt replaced: then it waits, however often that is repeated
    for host in ("h2", "h3", "h1"):
        result = partition.prepare("vm", host, attempt=attempt, replaces=replaces, fresh=fresh)
        assert result.answer is Answer.CLOSED
        assert audit_h1(partition, REF) == [Answer.UNVERIFIED]
    # And once the record names the guest, it is the instance's only copy
    assert partition.store.vouch("h1", [REF])[0].answer is Answer.CONFIRMED
    assert set(partition.states()) == {"vm"} and partition.store.hosts_of(["vm"]) == {"vm": "h1"}
    partition.check()


def test_no_second_copy_is_confirmed(partition: StorePartition) -> None:
    # Given that the instance was selected again before h1 reported its guest
    assert partition.prepare("vm", "h2", fresh=False).answer is Answer.PREPARED
    assert audit_h1(partition, REF) == [Answer.UNVERIFIED]
    # Then the second host does not start it, and no third one
    assert partition.store.confirm("h2", [REF])[0].answer is Answer.CLOSED
    assert partition.prepare("vm", "h3", attempt=2, replaces=1).answer is Answer.CLOSED
    # When the claim of the second host ends, then the next attempt still waits until the guest on h1 has stopped
    partition.store.abort([REF], "h2")
    assert partition.prepare("vm", "h3", attempt=2, replaces=1).answer is Answer.CLOSED
    assert audit_h1(partition, REF) == [Answer.ABORTED]
    assert partition.prepare("vm", "h3", attempt=2, replaces=1).answer is Answer.CLOSED
    assert audit_h1(partition) == []
    assert partition.prepare("vm", "h3", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.check()


def test_fence_of_the_host_that_reports_the_copy_opens_the_instance(partition: StorePartition) -> None:
    audit_h1(partition, REF)
    assert partition.fence("h1") == 1
    assert partition.prepare("vm", "h2", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.check()


# -- two partitions ----------------------------------------------------------------------------------------------------


def test_copy_that_a_host_of_another_partition_reports_closes_the_instance_everywhere() -> None:
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})

    def select(**more: Any) -> str | None:
        call = SelectionCall(context.new("p", "u"), request(**more), ["vm"])
        return deployment.worker.scheduler.select(FILTER_POLICY, call).prepared[0].host

    # Given an instance that runs in partition a, which was taken back to before it without a new epoch
    store = deployment.stores["a"]
    assert select(force_hosts=("a1",)) == "a1"
    store.confirm("a1", [REF])
    claim = store.state.claims["vm"]
    store.state.drop_claim(claim)
    store.state.changed_providers.clear()
    for forgetful in deployment.stores.values():
        forgetful.state.pins.clear()
    guest = running(REF, "a1", amounts=claim.allocations["a1"])
    answers = store.audit("a1", store.snapshot().epoch, [guest], 0).answers
    assert [result.answer for result in answers] == [Answer.UNVERIFIED]
    deployment.worker.follow()
    # When it is selected again, then no partition serves it
    for more in ({}, {"force_hosts": ("b1",)}):
        with pytest.raises(errors.ClaimClosed):
            select(**more)
    # And once the record names the guest, it is served where it runs
    store.vouch("a1", [REF])
    assert select() == "a1"
    assert deployment.live() == {"vm": ["a"]}


# -- a conductor -------------------------------------------------------------------------------------------------------


def test_instance_whose_record_is_uncertain_waits_for_the_copy_that_a_host_reports() -> None:
    cluster = SimulatedCluster(THREE)
    cluster.conductor()
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    records = cluster.copy_records()
    cluster.settle()
    assert cluster.record(uuid).host == "h1/n"
    # Given that the conductors' store forgot the boot and knows that, and the partition too, and does not know it
    cluster.restore_records(records)
    store = cluster.ledger.store
    store.state.drop_claim(store.state.claims[uuid])
    store.state.changed_providers.clear()
    guest = running(ClaimRef(uuid, 1), "h1/n", amounts={"VCPU": 1})

    def audit() -> Answer:
        return store.audit("h1", store.snapshot().epoch, [guest], 0).answers[0].answer

    assert audit() is Answer.UNVERIFIED
    # When conductors work for hours, then no second copy starts, and the guest runs on
    cluster.now_ms += MINUTE_MS
    cluster.settle(4 * HORIZON_MS)
    assert (cluster.record(uuid).step, cluster.record(uuid).status) == (SagaStep.SELECT, "SCHEDULING")
    assert cluster.hosts.guests_of(uuid) == [("h1/n", 1)]
    assert audit() is Answer.UNVERIFIED
    # When the operator has decided that h1 is lost, then the instance is served elsewhere
    store.fence("h1", "token-1", force=True)
    cluster.hosts.guests.clear()
    cluster.hosts.spawned_claims.clear()
    cluster.settle()
    assert cluster.statuses([uuid]) == ["ACTIVE"] and cluster.record(uuid).host == "h2/n"
