# SPDX-License-Identifier: Apache-2.0
"""The ranking of hosts: near candidates, which are about as good as the best, samples, and own claims."""

from collections.abc import Sequence

from rpcapi import context
from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import BatchOutcomes, ClaimBatch
from scheduler_svc.core.weighers import scoring
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy, rank_hosts
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FollowingReplicaView
from tests.support.scheduler.schedulers import FakeStore

TWO = {"VCPU": 2}


def driver(multiplier: float = 1.0, subset: int = 1) -> FilterDriver:
    return FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({"CPUWeigher": multiplier}), subset)


def near(driver: FilterDriver, *, count: int = 1) -> int:
    nodes = {f"h{free:02}": node({"VCPU": free}) for free in (4, 9, 10, 11, 12)}
    with hosts.table(nodes).reading() as view:
        return driver.rank(view, request(TWO), count, 1).near


def test_near_counts_hosts_no_worse_than_the_best_with_one_more_instance() -> None:
    assert near(driver()) == 3  # 12 free, 11, and 10 as the best would have with one more


def test_near_works_with_a_packing_weigher() -> None:
    assert near(driver(-1.0)) == 1  # 4 free; the next has 9


def test_near_is_one_for_host_subsets_and_many_instances() -> None:
    assert (near(driver(subset=2)), near(driver(), count=2)) == (1, 1)


def test_workers_with_the_same_table_select_different_near_hosts() -> None:
    store = MemoryStore("p")
    hosts.join(store, {name: node({"VCPU": 12}) for name in ("a", "b")})
    workers = [PartitionScheduler(store, FollowingReplicaView(store), SchedulingLimits()) for _ in range(2)]
    hosts_ = [_place(worker, f"c{number}") for number, worker in enumerate(workers)]
    assert sorted(hosts_) == ["a", "b"]


def test_own_claims_do_not_divert_a_worker() -> None:
    store = MemoryStore("p")
    hosts.join(store, {"large": node({"VCPU": 30}), "small": node({"VCPU": 27})})
    spy = RecordingStore(store)
    worker = PartitionScheduler(spy, FollowingReplicaView(store), SchedulingLimits())
    assert [_place(worker, f"c{number}") for number in range(2)] == ["large", "large"]
    first, second = (batch.intents[0] for batch in spy.batches)
    assert (first.near, second.near) == (1, 2)
    assert second.candidates[0].sums_position > spy.batches[1].position


class RecordingStore(FakeStore):
    """A store that keeps the batches it gets."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.batches: list[ClaimBatch] = []

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        self.batches += batches
        return super().prepare_all(batches, log_after)


def _place(worker: PartitionScheduler, consumer: str) -> str | None:
    result = worker.select(SchedulingPolicy(driver()), SelectionCall(context.new("p", "u"), request(TWO), [consumer]))
    return result.prepared[0].host


def test_ranking_names_rejected_hosts_only_for_a_refusal_or_on_request() -> None:
    policy = SchedulingPolicy(driver())
    with hosts.table({"a": node({"VCPU": 8}), "b": node({"VCPU": 1})}).reading() as view:
        served = rank_hosts(policy, view, request(TWO), 1, seed=1)
        explained = rank_hosts(policy, view, request(TWO), 1, seed=1, explains=True)
        refused = rank_hosts(policy, view, request({"VCPU": 9}), 1, seed=1)
    assert (served.ranking.candidates, served.samples) == ([["a"]], {})
    assert (explained.ranking, explained.samples) == (served.ranking, {"not enough VCPU": ["b"]})
    assert (refused.ranking.candidates, refused.samples) == ((), {"not enough VCPU": ["a", "b"]})


def test_ranking_has_the_log_position_of_own_claims_that_the_log_does_not_have_yet() -> None:
    table = hosts.table({"a": node({"VCPU": 8}), "b": node({"VCPU": 8})})
    table.apply_used({"a": {"VCPU": 2}}, 105)
    with table.reading() as view:
        snapshot = rank_hosts(SchedulingPolicy(driver()), view, request(TWO), 1, seed=1)
    assert (snapshot.log_positions[0].position, snapshot.claimed_positions) == (100, {"a": 105})
    assert snapshot.homes == {"a": 0, "b": 0}
