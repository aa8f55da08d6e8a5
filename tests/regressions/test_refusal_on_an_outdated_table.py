# SPDX-License-Identifier: Apache-2.0
"""A worker that has not read the latest log entries refuses no request for which a host has become free.

Each refusal without candidates was final, although another worker or an agent had ended claims since.
"""

from dataclasses import replace
from typing import Any

import pytest

from rpcapi import context, errors
from scheduler_svc.core.records import BatchOutcomes, ClaimBatch, ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.dry_run import DryRun
from scheduler_svc.scheduling.intake import RequestRewriter
from scheduler_svc.scheduling.ranking import CurrentPolicy
from scheduler_svc.scheduling.shadow import ShadowStore
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY
from tests.support.scheduler.schedulers import FakeStore, HostPartition, select, selection_call


class CountingStore(FakeStore):
    """A store that counts round trips for claims."""

    calls = 0

    def prepare_all(self, batches: list[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        self.calls += 1
        return super().prepare_all(batches, log_after)


def numbered_call(number: int) -> SelectionCall:
    return selection_call(first=number, scheduling_request=replace(request(), id=f"r{number}"))


def fill(partition: HostPartition) -> None:
    scheduler, _ = partition.scheduler()
    for number in range(4):
        select(scheduler, numbered_call(number))


def end_all(partition: HostPartition) -> None:
    partition.store.abort([ClaimRef(claim.consumer, claim.attempt) for claim in partition.live()])


def test_host_that_others_have_freed_takes_the_request() -> None:
    partition = HostPartition({"h1": node()})
    fill(partition)
    scheduler, _ = partition.scheduler()  # reads the full host
    end_all(partition)
    assert select(scheduler, selection_call(first=10)).prepared[0].host == "h1"


def test_host_that_others_have_freed_is_selected_in_shadow_mode() -> None:
    partition = HostPartition({"h1": node()})
    fill(partition)
    scheduler, _ = partition.scheduler(ShadowStore(partition.store))
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(first=10))
    end_all(partition)
    with pytest.raises(errors.NotClaimed) as caught:
        select(scheduler, selection_call(first=10))
    assert caught.value.kwargs["hosts"] == ["h1"]


def test_many_calls_decided_together_on_an_outdated_table_are_served() -> None:
    partition = HostPartition({"h1": node()})
    fill(partition)
    scheduler, _ = partition.scheduler()
    end_all(partition)
    calls = [numbered_call(number) for number in range(10, 14)]
    assert not [result for result in scheduler.select_batch(FILTER_POLICY, calls) if isinstance(result, Exception)]


def test_refusal_on_a_current_table_takes_one_try() -> None:
    partition = HostPartition({"h1": node()})
    fill(partition)
    store = CountingStore(partition.store)
    scheduler, _ = partition.scheduler(store)
    with pytest.raises(errors.NoValidHost) as caught:
        select(scheduler, selection_call(first=10))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 1}
    assert (store.calls, partition.store.find_decision("req-1")["retry"]) == (1, 0)


def test_request_is_refused_at_the_second_try_although_the_log_grows() -> None:
    """The second try knows all entries from before the call, so its refusal is true."""
    partition = HostPartition({"h1": node(), "busy": node()})
    numbers = iter(range(100, 200))

    class BusyStore(CountingStore):
        def prepare_all(self, batches: list[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
            number = next(numbers)
            other, _ = partition.scheduler()
            claimed = select(other, numbered_call(number))
            partition.store.abort([ClaimRef(claimed.prepared[0].consumer, 1)])
            return super().prepare_all(batches, log_after)

    store = BusyStore(partition.store)
    scheduler, _ = partition.scheduler(store, max_tries=5)
    with pytest.raises(errors.NoValidHost, match="2 not enough VCPU"):
        select(scheduler, selection_call(first=10, scheduling_request=request({"VCPU": 100})))
    assert store.calls == 2


def call(number: int, vcpus: int = 2, **fields: Any) -> SelectionCall:
    scheduling_request = replace(request({"VCPU": vcpus}, **fields), id=f"r{number}")
    return SelectionCall(context.new("p", "u"), scheduling_request, [f"vm-{number}"], fresh=True)


@pytest.mark.parametrize("freed", ["a", "b", "c"])
def test_freed_host_in_any_partition_takes_the_request(freed: str) -> None:
    nodes = {name: {f"{name}1": node({"VCPU": 2})} for name in ("a", "b", "c")}
    deployment = PartitionedDeployment(2, **nodes)
    slow, quick = deployment.workers
    for number, name in enumerate(nodes):
        quick.scheduler.select(FILTER_POLICY, call(number, force_hosts=(f"{name}1",)))
    slow.follow()
    (claim,) = deployment.stores[freed].claims()[0]
    deployment.stores[freed].abort([ClaimRef(claim.consumer, claim.attempt)])
    assert slow.scheduler.select(FILTER_POLICY, call(10)).partition == freed
    with pytest.raises(errors.NoValidHost) as caught:
        slow.scheduler.select(FILTER_POLICY, call(11))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 3}


def test_refusal_counts_each_host_once_if_a_freed_host_is_lost_again() -> None:
    deployment = PartitionedDeployment(2, a={"a1": node({"VCPU": 2})}, b={"b1": node({"VCPU": 2})})
    slow, quick = deployment.workers
    for number, name in enumerate(("a1", "b1")):
        quick.scheduler.select(FILTER_POLICY, call(number, force_hosts=(name,)))
    slow.follow()
    store = deployment.stores["b"]
    (claim,) = store.claims()[0]
    store.abort([ClaimRef(claim.consumer, claim.attempt)])
    prepare_all = store.prepare_all

    def lose(batches: list[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        store.prepare_all = prepare_all  # type: ignore[method-assign]
        quick.follow()
        quick.scheduler.select(FILTER_POLICY, call(20))
        return prepare_all(batches, log_after)

    store.prepare_all = lose  # type: ignore[method-assign]
    with pytest.raises(errors.NoValidHost) as caught:
        slow.scheduler.select(FILTER_POLICY, call(10))
    assert sum(caught.value.kwargs["reasons"].values()) == 2


def test_dry_run_reads_the_log_before_it_refuses() -> None:
    """Given a move to a named host, which the conductor checks by a dry run."""
    nodes = {name: {f"{name}1": node({"VCPU": 2})} for name in ("a", "b")}
    deployment = PartitionedDeployment(2, **nodes)
    slow, quick = deployment.workers
    for number, name in enumerate(nodes):
        quick.scheduler.select(FILTER_POLICY, call(number, force_hosts=(f"{name}1",)))
    slow.follow()
    dry_run = DryRun(CurrentPolicy(FILTER_POLICY), slow.partitions, RequestRewriter(slow.partitions))
    for name in nodes:
        forced = replace(request({"VCPU": 2}, force_hosts=(f"{name}1",)), id=f"dry {name}")
        assert dry_run.decide(context.new("p", "u"), forced, 1)[1]["outcome"] == "refused"
        (claim,) = deployment.stores[name].claims()[0]
        deployment.stores[name].abort([ClaimRef(claim.consumer, claim.attempt)])
        partition, document = dry_run.decide(context.new("p", "u"), forced, 1)
        assert (partition, document["candidates"]) == (name, [[f"{name}1"]])
