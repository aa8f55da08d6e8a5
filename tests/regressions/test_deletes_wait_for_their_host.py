# SPDX-License-Identifier: Apache-2.0
"""The delete of any instance waited for every host that a store had forgotten, or did not wait where it had to."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.saga.abort import abort as abort_step
from conductor.saga.alternate import alternate
from conductor.saga.reconcile import settle
from conductor.saga.transitions import finish
from conductor.store.records import SagaStep
from rpcapi import context, objects
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from tests.support.conductor.simulated_cluster import HORIZON_MS, THREE, SimulatedCluster, uuid_list
from tests.support.conductor.step_contexts import SPEC, FakeClaims, instance, make_context
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import StorePartition, running

REF = ClaimRef("vm", 1)

# -- in the store ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "redis"])
def partition(request: pytest.FixtureRequest) -> Iterator[StorePartition]:
    """A partition with the hosts h, g and gone."""
    is_memory = request.param == "memory"
    backend = memory_partition() if is_memory else redis_partition(request.getfixturevalue("redis_server"))
    for host in ("h", "g", "gone"):
        backend.add_host(host)
    yield backend
    backend.store.close()


def abort(partition: StorePartition, *destinations: str | None) -> list[Answer]:
    refs = [ClaimRef(f"vm-{destination}", 1) for destination in destinations]
    return [result.answer for result in partition.store.abort(refs, destinations=destinations)]


def test_only_the_destination_is_waited_for(partition: StorePartition) -> None:
    # Given an epoch in which one host has audited, and one never will
    epoch = partition.new_epoch()
    partition.store.audit("g", epoch, [], 0)
    # Then the attempts that it may run are closed, and no others
    answers = abort(partition, "gone", None, "g", "", "gone")
    assert answers == [Answer.CLOSED, Answer.CLOSED, Answer.UNKNOWN, Answer.UNKNOWN, Answer.CLOSED]
    partition.fence("gone")
    assert abort(partition, "gone", "h", None) == [Answer.UNKNOWN, Answer.CLOSED, Answer.CLOSED]
    partition.store.audit("h", epoch, [], 0)
    assert abort(partition, "gone", "h", None) == [Answer.UNKNOWN] * 3


def test_destination_that_is_not_named_yet_is_waited_for(partition: StorePartition) -> None:
    epoch = partition.new_collecting_epoch()
    assert abort(partition, "forgotten", "") == [Answer.CLOSED, Answer.UNKNOWN]
    partition.store.name_hosts(epoch, [], complete=True)
    assert abort(partition, "forgotten") == [Answer.UNKNOWN]


def test_guest_of_an_ended_attempt_stops_when_its_host_returns(partition: StorePartition) -> None:
    """An attempt is ended although its record was wrong about the host: no guest outlives it."""
    mark = partition.mark()
    ref = partition.hold("vm", "h")
    epoch = partition.forget_since(mark)
    partition.store.audit("g", epoch, [], 0)
    assert partition.store.abort([ref], destinations=["g"])[0].answer is Answer.UNKNOWN
    assert partition.store.audit("h", epoch, [running(ref, "h")], 0).answers[0].answer is Answer.ABORTED
    assert partition.states() == {}
    partition.check()


def test_claim_that_was_sent_to_no_host_ends_without_the_audit_of_its_host(partition: StorePartition) -> None:
    # Given a claim on a host that stays away, for a conductor that died before it recorded it
    partition.prepare("vm", "gone")
    partition.new_epoch()
    # Then a record that may be older waits for the host, one that is certain to name another host or none does not
    assert partition.store.abort([REF], destinations=[None])[0].answer is Answer.CLOSED
    assert partition.store.abort([REF], destinations=["gone"])[0].answer is Answer.CLOSED
    assert partition.store.abort([REF], destinations=["h"])[0].answer is Answer.ABORTED
    assert partition.used("gone") == {}
    partition.check()


def test_confirmed_claim_is_kept_wherever_it_is(partition: StorePartition) -> None:
    partition.hold("vm", "h")
    partition.new_epoch()
    for destination in (None, "", "g", "h"):
        assert partition.store.abort([REF], destinations=[destination])[0].answer is Answer.CONFIRMED


# -- a conductor -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


def fail_and_forget(cluster: SimulatedCluster) -> dict[str, str]:
    """Boot an instance on each host and let it end in ERROR; forget the claims, and audit all hosts but h1.

    Returns the instances by host.
    """
    instances = {f"h{number}": uuid for number, uuid in enumerate(uuid_list(3), 1)}
    cluster.build(list(instances.values()))
    cluster.settle()
    for host, uuid in instances.items():
        assert cluster.record(uuid).host == f"{host}/n"
        cluster.store.write_without_lease([finish(cluster.record(uuid), InstanceStatus.ERROR, reason="x")], wake=False)
    state = cluster.ledger.store.state
    for uuid in instances.values():
        state.drop_claim(state.claims[uuid])
    state.changed_providers.clear()
    cluster.ledger.forget()
    cluster.ledger.store.name_hosts(cluster.ledger.store.snapshot().epoch, [], complete=True)
    for host in ("h2", "h3"):
        cluster.hosts.guests.pop(ClaimRef(instances[host], 1))
        cluster.ledger.audit(host)
    return instances


def test_delete_waits_for_the_host_of_its_record_only(cluster: SimulatedCluster) -> None:
    instances = fail_and_forget(cluster)
    cluster.delete(list(instances.values()))
    cluster.settle(HORIZON_MS)
    assert cluster.statuses(instances.values()) == ["DELETING", "DELETED", "DELETED"]
    # When the host comes back, then its guest is stopped
    ref = ClaimRef(instances["h1"], 1)
    guest = running(ref, "h1/n", amounts={"VCPU": 1})
    cluster.ledger.store.audit("h1", cluster.ledger.store.snapshot().epoch, [guest], 0)
    cluster.settle()
    assert cluster.hosts.guests_of(ref.consumer) == []
    assert cluster.statuses(instances.values()) == ["DELETED"] * 3
    cluster.check(instances.values())


def test_delete_by_a_record_that_is_not_certain_waits_for_all_hosts(cluster: SimulatedCluster) -> None:
    instances = fail_and_forget(cluster)
    cluster.store.begin_epoch()
    cluster.delete(list(instances.values()))
    cluster.settle(4 * HORIZON_MS)
    assert cluster.statuses(instances.values()) == ["DELETING"] * 3
    cluster.ledger.store.fence("h1", "token-1", force=True)
    cluster.settle()
    assert cluster.statuses(instances.values()) == ["DELETED"] * 3


# -- two partitions ----------------------------------------------------------------------------------------------------


def abort_everywhere(deployment: PartitionedDeployment, attempt: int = 1, destination: str | None = None) -> Answer:
    """Abort an attempt at the claims service of partition a, as its endpoint does."""
    refs, destinations = [ClaimRef("vm", attempt)], [destination]
    answers = deployment.stores["a"].abort(refs, destinations=destinations)
    attempts = EarlierAttempts(deployment.worker.partitions)
    return attempts.abort("a", refs, answers, destinations)[0].answer


def test_delete_without_a_certain_record_waits_for_all_partitions() -> None:
    # Given an instance that runs in partition b, which forgot it; its record, which is older, names no host
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    call = SelectionCall(
        context.new("p", "u"), request(resources=SPEC.resources, force_hosts=("b1",)), ["vm"], fresh=True
    )
    deployment.worker.scheduler.select(FILTER_POLICY, call)
    store = deployment.stores["b"]
    store.confirm("b1", [REF])
    claim = store.state.claims["vm"]
    store.state.drop_claim(claim)
    store.state.changed_providers.clear()
    epoch = store.begin_epoch()
    # When it is deleted, then it waits for the host, and finds what runs
    assert abort_everywhere(deployment) is Answer.CLOSED
    assert abort_everywhere(deployment, destination="a1") is Answer.UNKNOWN
    store.audit("b1", epoch, [running(REF, "b1", amounts=claim.allocations["b1"])], 0)
    assert abort_everywhere(deployment) is Answer.CONFIRMED


def test_delete_without_a_certain_record_waits_for_a_partition_that_is_away() -> None:
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    deployment.take_away("b")
    assert abort_everywhere(deployment) is Answer.CLOSED
    assert abort_everywhere(deployment, destination="a1") is Answer.UNKNOWN
    deployment.take_away("b", False)
    assert abort_everywhere(deployment) is Answer.UNKNOWN


@pytest.mark.parametrize(("is_confirmed", "step"), [(False, SagaStep.DONE), (True, SagaStep.TERMINATE)])
def test_delete_by_an_older_record_ends_what_is_live_in_another_partition(is_confirmed: bool, step: SagaStep) -> None:
    """The delete waited forever: each abort was CLOSED, since the conductor could not find the attempt to end."""
    # Given a later attempt in partition b, and a record from before it, which names partition a
    deployment = deployment_with_third_attempt_in_b(is_confirmed)
    record = instance("vm", status=InstanceStatus.DELETING, step=SagaStep.ABORT, partition="a", host="a1")
    step_context = make_context(DeploymentClaims(deployment))
    # When it is deleted
    (record,) = abort_step(step_context, [record])
    assert (record.step, record.attempt, record.partition) == (SagaStep.ABORT, 3, "b")
    (record,) = abort_step(step_context, [record])
    # Then that attempt ends: at once, or by its host
    assert (record.step, record.host, record.partition) == (step, "b1", "b")
    assert deployment.live() == ({"vm": ["b"]} if is_confirmed else {})


@pytest.mark.parametrize("attempt", [1, 3])
def test_build_by_an_older_record_continues_where_it_runs(attempt: int) -> None:
    """The record's host was sent a build for the claim of another partition's host, or the instance waited forever."""
    deployment = deployment_with_third_attempt_in_b(is_confirmed=True)
    record = instance("vm", status=InstanceStatus.BUILDING, step=SagaStep.ALTERNATE, partition="a", host="a1")
    step_context = make_context(DeploymentClaims(deployment))
    (record,) = alternate(step_context, [replace(record, attempt=attempt)])
    assert (record.step, record.partition) == (SagaStep.SETTLE, "b")
    (record,) = settle(step_context, [record])
    assert (record.attempt, record.host, record.partition) == (3, "b1", "b")


def deployment_with_third_attempt_in_b(is_confirmed: bool) -> PartitionedDeployment:
    """Return partitions a and b with a host each, where attempt 3 of instance "vm" is live on host b1."""
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    call = SelectionCall(
        context.new("p", "u"), request(resources=SPEC.resources, force_hosts=("b1",)), ["vm"], 3, fresh=True
    )
    deployment.worker.scheduler.select(FILTER_POLICY, call)
    if is_confirmed:
        deployment.stores["b"].confirm("b1", [ClaimRef("vm", 3)])
    return deployment


class DeploymentClaims(FakeClaims):
    """Claims clients of a deployment's partitions, which answer as the endpoints do."""

    def __init__(self, deployment: PartitionedDeployment) -> None:
        self._stores = deployment.stores
        self._attempts = EarlierAttempts(deployment.worker.partitions)

    def of(self, partition: str) -> Any:
        store = self._stores[partition]

        def abort_claims(ctxt: Any, refs: objects.ClaimRefs, destinations: list[str | None]) -> objects.ClaimAnswers:
            claim_refs = decode.refs(refs)
            answers = store.abort(claim_refs, destinations=destinations)
            answers = self._attempts.abort(partition, claim_refs, answers, destinations)
            return encode.claim_answers(answers, Answer.ABORTED)

        def list_claims(ctxt: Any, consumer: str) -> objects.ClaimPage:
            rows = [encode.claim(claim, 0) for claim in store.claims(consumer=consumer)[0]]
            return objects.ClaimPage.of(claims=rows, marker=None)

        return SimpleNamespace(abort_claims=abort_claims, list_claims=list_claims)
