# SPDX-License-Identifier: Apache-2.0
"""Many calls decided together: on a store, with others who claim meanwhile, and in a window."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import GroupPolicy
from scheduler_svc.deciding.asked import SelectionResult
from scheduler_svc.deciding.batch import BatchSelector
from scheduler_svc.deciding.select import RetryLimits, Selector
from scheduler_svc.deciding.window import BatchWindow
from scheduler_svc.drivers.solver.driver import SolverDriver, SolverLimits
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import ClaimGroup
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.selecting import RefusingClaimer, selection_call
from tests.unit.scheduler_svc.sights import FollowingReplicaView, filter_driver

LONG_S = 20.0


def world(*sizes):
    """A store with a host of each size in VCPU."""
    store = MemoryStore("p")
    hosts.join(store, {f"h{number}/n": node({"VCPU": size}) for number, size in enumerate(sizes)})
    return store


def selector(store, claimer=None, packs=True, **window):
    driver = SolverDriver(filter_driver(), SolverLimits(packs=packs, limit_s=LONG_S))
    return BatchSelector(Selector(claimer or store, FollowingReplicaView(store), driver, RetryLimits()), **window)


def call(number, size, count=1, **more):
    """A call for ``count`` instances of ``size`` VCPU, with uuids of its own."""
    return replace(selection_call(count, 100 * number), request=replace(request({"VCPU": size}, **more), id=f"req-{number}"))


def test_a_batch_is_served_where_one_after_the_other_would_not_be():
    # Given room for 4 and for 3, and calls in an order in which the first would take the wrong one
    store = world(4, 3)
    calls = [call(0, 3), call(1, 4)]
    outcomes = selector(store, packs=False).select_batch(context.new("p", "u"), calls)
    assert [outcome.prepared[0].host for outcome in outcomes] == ["h1/n", "h0/n"]
    # And the record tells how
    document = store.find_decision("req-1")
    assert document["batch"]["served"] == 2
    assert document["batch"]["served_one_by_one"] == 1


def test_each_call_is_answered_for_itself_all_or_none():
    store = world(4)
    calls = [call(0, 3), call(1, 2, count=2), call(2, 9)]
    first, both, large = selector(store).select_batch(context.new("p", "u"), calls)
    assert sum(isinstance(one, SelectionResult) for one in (first, both)) == 1
    assert isinstance(large, errors.NoValidHost)
    assert large.kwargs["reasons"] == {"not enough VCPU": 1}
    assert len(store.claims()[0]) in (1, 2)


def test_what_others_took_meanwhile_is_decided_anew():
    # Given a worker that has not heard of what another one just claimed
    store = world(4, 4)
    late = selector(store)
    selector(store).select(context.new("p", "u"), call(7, 4))
    outcomes = late.select_batch(context.new("p", "u"), [call(0, 2), call(1, 2), call(2, 2)])
    assert sorted(isinstance(outcome, SelectionResult) for outcome in outcomes) == [False, True, True]
    assert not store.verify().problems and not store.verify().excess


def test_a_call_that_loses_every_race_is_refused_alone():
    store = world(4, 4)
    refusing = RefusingClaimer()
    refusing.group_hosts = store.group_hosts
    outcomes = selector(store, refusing).select_batch(context.new("p", "u"), [call(0, 2), call(1, 2)])
    assert all(isinstance(outcome, errors.NoValidHost) for outcome in outcomes)


def test_two_calls_of_an_affinity_group_land_on_one_host():
    store = world(4, 4, 4)
    group = ClaimGroup("pets", GroupPolicy.AFFINITY, 1)
    calls = [call(number, 1, count=2, group=group) for number in range(2)]
    outcomes = selector(store, packs=False).select_batch(context.new("p", "u"), calls)
    assert len({one.host for outcome in outcomes for one in outcome.prepared}) == 1


def test_calls_of_an_anti_affinity_group_keep_apart_from_each_other_and_from_members():
    store = world(4, 4, 4, 4)
    group = ClaimGroup("pets", GroupPolicy.ANTI_AFFINITY, 1)
    made = selector(store)
    made.select(context.new("p", "u"), call(9, 1, group=group))
    outcomes = made.select_batch(context.new("p", "u"), [call(0, 1, count=2, group=group), call(1, 1, group=group)])
    names = [one.host for outcome in outcomes for one in outcome.prepared]
    assert len(set(names)) == 3
    assert set(store.group_hosts("pets").values()) == {1}


def test_repeating_a_batch_returns_what_it_was_given():
    store = world(4, 4)
    made, calls = selector(store), [call(0, 3), call(1, 3)]
    first, again = (made.select_batch(context.new("p", "u"), calls) for _ in range(2))
    assert [one.prepared[0].host for one in first] == [one.prepared[0].host for one in again]
    assert len(store.claims()[0]) == 2


def test_calls_in_one_window_are_ranked_together():
    store = world(4, 3)
    made = selector(store, packs=False, window_s=30.0, max_calls=2)  # closes when both are there
    with ThreadPoolExecutor(2) as pool:
        decided = list(pool.map(lambda one: made.select(context.new("p", "u"), one), [call(0, 3), call(1, 4)]))
    assert [one.prepared[0].host for one in decided] == ["h1/n", "h0/n"]


def test_a_window_with_one_call_leaves_it_to_be_decided_by_itself():
    store = world(4)
    made = selector(store, window_s=0.001, max_calls=9)
    assert made.select(context.new("p", "u"), call(0, 3)).prepared[0].host == "h0/n"
    assert "batch" not in store.find_decision("req-0")


@pytest.mark.parametrize("fault", [errors.StoreUnavailable(why="gone"), ZeroDivisionError()])
def test_nobody_waits_for_ever_for_a_ranking_that_failed(fault):
    def fail(_calls):
        raise fault

    window = BatchWindow(fail, 30.0, 2)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(window.rank, call(number, 1)) for number in range(2)]
        ended = [each.exception(10) or each.result() for each in waiting]
    # When it is no fault of ours, all are decided by themselves; a bug is told once, to the one who met it
    assert ended.count(None) == (2 if isinstance(fault, errors.GanttError) else 1)


def test_a_round_that_is_full_leaves_room_for_the_next():
    rounds = []
    gate = threading.Event()

    def rank(calls):
        rounds.append(len(calls))
        gate.wait(10)
        return [None] * len(calls)

    window = BatchWindow(rank, 30.0, 2)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(window.rank, call(number, 1)) for number in range(4)]
        gate.set()
        assert [each.result(10) for each in waiting] == [None] * 4
    assert rounds == [2, 2]
