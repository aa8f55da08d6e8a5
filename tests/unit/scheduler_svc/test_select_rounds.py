# SPDX-License-Identifier: Apache-2.0
"""Decisions that others outran: the next candidate, the next round, and an end of both."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from rpcapi import context, errors
from rpcapi.model.claims import Verdict
from scheduler_svc.deciding.asked import SelectionCall
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.selecting import RefusingClaimer, SelectorWorld, select, selection_call


def test_the_loser_of_a_race_takes_the_next_candidate_in_the_same_round():
    world = SelectorWorld({"a": node(), "b": node({"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 100})})
    slow, sight = world.selector()
    quick, _ = world.selector()
    select(quick, selection_call(4, first=10, asks=request(force_hosts=("a",))))
    assert select(slow, selection_call()).prepared[0].host == "b"
    assert sight.reached == []


def test_all_candidates_lost_means_looking_again_at_least_as_fresh():
    nodes = {f"h{number:02}": node({"VCPU": 2 if number < 16 else 1}) for number in range(20)}
    best = tuple(nodes)[:16]
    world = SelectorWorld(nodes)
    slow, sight = world.selector()
    quick, _ = world.selector()
    select(quick, selection_call(32, first=10, asks=request({"VCPU": 1}, force_hosts=best)))
    decided = select(slow, selection_call(asks=request({"VCPU": 1})))
    assert decided.prepared[0].host not in best
    assert len(sight.reached) == 1
    assert decided.position >= sight.reached[0]


def test_a_first_choice_is_counted_when_it_is_claimed_and_not_when_it_is_asked_for_again():
    world = SelectorWorld({"a": node(), "b": node({"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 100})})
    slow, _ = world.selector()
    quick, _ = world.selector()

    def counted():
        return REGISTRY.get_sample_value("gantt_first_choices_total")

    before = counted()
    for _ in range(2):
        select(quick, selection_call(4, first=10, asks=request(force_hosts=("a",))))
        assert counted() == before + 4
    assert select(slow, selection_call()).prepared[0].host == "b"  # its second
    assert counted() == before + 4


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.CONCURRENT, "4 claimed by others meanwhile"),
        (Verdict.STALE, "4 changed meanwhile"),
        (Verdict.CLOSED, "4 not audited in this epoch"),
    ],
)
def test_a_claimer_that_always_refuses_is_asked_a_bounded_number_of_times(verdict, reason):
    refusing = RefusingClaimer(verdict)
    selector, _ = SelectorWorld().selector(refusing, max_tries=3)
    with pytest.raises(errors.NoValidHost, match=reason):
        select(selector, selection_call())
    assert [batch.record["round"] for batch in refusing.batches] == [0, 1, 2]
    assert len({batch.record["seed"] for batch in refusing.batches}) == 3


@pytest.mark.parametrize(("patience", "left", "most"), [(2.0, None, 2.0), (2.0, 60.0, 2.0), (900.0, 60.0, 60.0)])
def test_waiting_for_news_ends_with_patience_or_the_deadline(patience, left, most):
    selector, sight = SelectorWorld().selector(RefusingClaimer(), max_tries=2, catch_up_s=patience)
    ctxt = context.new() if left is None else context.new().with_timeout(left)
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(), ctxt)
    assert len(sight.waited) == 2
    assert most / 2 < max(sight.waited) <= most


def test_an_epoch_that_this_worker_has_not_read_is_not_a_lack_of_hosts():
    selector, _ = SelectorWorld().selector(RefusingClaimer(current=False), max_tries=2)
    with pytest.raises(errors.NotReady, match="new epoch"):
        select(selector, selection_call())


def test_selectors_that_race_on_one_store_never_overcommit():
    world = SelectorWorld({f"h{number}": node() for number in range(25)})  # room for 100
    refused = Counter()

    def work(name):
        selector, _ = world.selector(max_tries=10)
        for number in range(40):
            wish = SelectionCall(replace(request(), id=f"{name}-{number}"), [f"{name}-{number}"])
            try:
                select(selector, wish)
            except errors.NoValidHost:
                refused[name] += 1

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = world.store.verify()
    assert (found.problems, found.excess) == ([], [])
    assert len(world.live()) == 100
    assert sum(refused.values()) == 60
