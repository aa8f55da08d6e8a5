# SPDX-License-Identifier: Apache-2.0
"""Batches of calls: on a store, with concurrent claims, and in a window."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import BatchRanking, Driver, Ranking
from scheduler_svc.core.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.scheduling.calls import ServedCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.placements import AMPLE_S, AMPLE_WORK
from tests.support.scheduler.replica_views import FollowingReplicaView, filter_driver
from tests.support.scheduler.schedulers import RefusingStore, selection_call


def make_store(*sizes):
    """Return a store with one host for each size in VCPU."""
    store = MemoryStore("p")
    hosts.join(store, {f"h{number}/n": node({"VCPU": size}) for number, size in enumerate(sizes)})
    return store


class SolverScheduler:
    """A scheduler that always decides by one policy."""

    def __init__(self, policy, scheduler):
        self.policy = policy
        self.scheduler = scheduler

    def select(self, call):
        return self.scheduler.select(self.policy, call)

    def select_batch(self, calls):
        return self.scheduler.select_batch(self.policy, calls)


def scheduler(store, fake=None, packs=True, window=(0.0, 1)):
    policy = SchedulingPolicy(
        SolverDriver(filter_driver(), SolverLimits(packs=packs, work=AMPLE_WORK, limit_s=AMPLE_S))
    )
    scheduler = PartitionScheduler(
        fake or store, FollowingReplicaView(store), SchedulingLimits(window_s=window[0], max_batch=window[1])
    )
    return SolverScheduler(policy, scheduler)


def call(number, size, count=1, **more):
    """Return a call for ``count`` instances of ``size`` VCPU, with unique consumers."""
    return replace(
        selection_call(count, 100 * number), request=replace(request({"VCPU": size}, **more), id=f"req-{number}")
    )


def test_batch_serves_calls_that_sequential_selection_would_refuse():
    # Given capacities of 4 and 3, and calls in an order in which the first would take the wrong host
    store = make_store(4, 3)
    calls = [call(0, 3), call(1, 4)]
    outcomes = scheduler(store, packs=False).select_batch(calls)
    assert [outcome.prepared[0].host for outcome in outcomes] == ["h1/n", "h0/n"]
    # And the decision record describes the batch
    document = store.find_decision("req-1")
    assert document["batch"]["served"] == 2
    assert document["batch"]["served_one_by_one"] == 1


def test_calls_of_a_batch_are_ranked_together_with_those_of_the_same_driver():
    class NamedDriver(Driver):
        """A driver that ranks batches, and has hosts of its own."""

        def __init__(self, name):
            self.name = name

        def rank(self, view, request, count, seed):
            return Ranking([[f"{self.name}1/n"]], 2, {})

        def batches(self, request):
            return True

        def rank_batch(self, view, requests):
            batches.append((self.name, [rank_request.request.id for rank_request in requests]))
            return lambda: BatchRanking([Ranking([[f"{self.name}0/n"]], 2, {})] * len(requests))

    batches = []
    store = MemoryStore("p")
    hosts.join(store, {f"{name}{number}/n": node({"VCPU": 4}) for name in "abc" for number in range(2)})
    drivers = {name: NamedDriver(name) for name in "abc"}
    batch_scheduler = SolverScheduler(
        SchedulingPolicy(drivers["a"], drivers=drivers),
        PartitionScheduler(store, FollowingReplicaView(store), SchedulingLimits()),
    )
    calls = [call(number, 1, driver=name) for number, name in enumerate(("b", None, "a", "b", "c"))]
    outcomes = batch_scheduler.select_batch(calls)
    assert batches == [("b", ["req-0", "req-3"]), ("a", ["req-1", "req-2"])]  # the only call of "c" is no batch
    assert [outcome.prepared[0].host for outcome in outcomes] == ["b0/n", "a0/n", "a0/n", "b0/n", "c1/n"]


def test_each_call_of_a_batch_is_all_or_nothing():
    store = make_store(4)
    calls = [call(0, 3), call(1, 2, count=2), call(2, 9)]
    first, both, large = scheduler(store).select_batch(calls)
    assert sum(isinstance(result, ServedCall) for result in (first, both)) == 1
    assert isinstance(large, errors.NoValidHost)
    assert large.kwargs["reasons"] == {"not enough VCPU": 1}
    assert len(store.claims()[0]) in (1, 2)


def test_call_is_decided_again_after_others_claimed_its_host():
    # Given a worker that has not read another worker's claim
    store = make_store(4, 4)
    late = scheduler(store)
    scheduler(store).select(call(7, 4))
    outcomes = late.select_batch([call(0, 2), call(1, 2), call(2, 2)])
    assert sorted(isinstance(outcome, ServedCall) for outcome in outcomes) == [False, True, True]
    assert not store.verify().problems and not store.verify().excess


def test_call_that_loses_every_race_is_refused():
    store = make_store(4, 4)
    refusing = RefusingStore()
    refusing.group_hosts = store.group_hosts
    outcomes = scheduler(store, refusing).select_batch([call(0, 2), call(1, 2)])
    assert all(isinstance(outcome, errors.NoValidHost) for outcome in outcomes)


def test_two_calls_of_an_affinity_group_land_on_one_host():
    store = make_store(4, 4, 4)
    group = ClaimGroup("pets", GroupPolicy.AFFINITY, 1)
    calls = [call(number, 1, count=2, group=group) for number in range(2)]
    outcomes = scheduler(store, packs=False).select_batch(calls)
    assert len({result.host for outcome in outcomes for result in outcome.prepared}) == 1


def test_calls_of_an_anti_affinity_group_keep_apart_from_each_other_and_from_members():
    store = make_store(4, 4, 4, 4)
    group = ClaimGroup("pets", GroupPolicy.ANTI_AFFINITY, 1)
    batch_scheduler = scheduler(store)
    batch_scheduler.select(call(9, 1, group=group))
    outcomes = batch_scheduler.select_batch([call(0, 1, count=2, group=group), call(1, 1, group=group)])
    names = [result.host for outcome in outcomes for result in outcome.prepared]
    assert len(set(names)) == 3
    assert set(store.group_hosts("pets").values()) == {1}


def test_repeated_batch_returns_the_same_hosts():
    store = make_store(4, 4)
    batch_scheduler, calls = scheduler(store), [call(0, 3), call(1, 3)]
    first, again = (batch_scheduler.select_batch(calls) for _ in range(2))
    assert [result.prepared[0].host for result in first] == [result.prepared[0].host for result in again]
    assert len(store.claims()[0]) == 2


def test_calls_in_one_window_are_ranked_together():
    store = make_store(4, 3)
    batch_scheduler = scheduler(store, packs=False, window=(30.0, 2))  # closes when both have joined
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(batch_scheduler.select, [call(0, 3), call(1, 4)]))
    assert [result.prepared[0].host for result in results] == ["h1/n", "h0/n"]


def test_single_call_in_a_window_is_decided_on_its_own():
    store = make_store(4)
    batch_scheduler = scheduler(store, window=(0.001, 9))
    assert batch_scheduler.select(call(0, 3)).prepared[0].host == "h0/n"
    assert "batch" not in store.find_decision("req-0")
