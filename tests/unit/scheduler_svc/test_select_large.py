# SPDX-License-Identifier: Apache-2.0
"""Requests of more instances than one claim script takes: chunks, and what is given back."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from tests.unit.scheduler_svc.hosts import node
from tests.unit.scheduler_svc.selecting import FailingClaimer, SelectorWorld, select, selection_call


def test_after_an_outage_amid_a_large_request_asking_again_finds_what_was_claimed():
    world = SelectorWorld({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector(FailingClaimer(world.store))
    with pytest.raises(errors.StoreUnavailable, match="gone"):
        select(selector, selection_call(150))
    held = {claim.consumer: claim.host for claim in world.live()}
    assert len(held) == 100
    selector, _ = world.selector()
    hosts_given = [one.host for one in select(selector, selection_call(150)).prepared]
    assert hosts_given[:100] == [held[f"vm-{number}"] for number in range(100)]


def test_a_refusal_that_cannot_be_undone_now_is_still_the_refusal():
    world = SelectorWorld({f"h{number:02}": node() for number in range(30)})
    claimer = FailingClaimer(world.store)
    claimer.prepared = -10
    selector, _ = world.selector(claimer)
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert {claim.state for claim in world.live()} == {"prepared"}  # until their deadline


def test_a_large_request_whose_deadline_passes_half_way_is_finished():
    world = SelectorWorld({f"h{number:02}": node() for number in range(60)})
    ctxt = context.new(deadline=time.time() + 60)

    class Slow(FailingClaimer):
        def prepare(self, batch):
            ctxt.deadline = time.time() - 1
            return self.store.prepare(batch)

    selector, _ = world.selector(Slow(world.store))
    assert len(select(selector, selection_call(150), ctxt).prepared) == 150


def test_a_large_request_is_claimed_in_chunks():
    world = SelectorWorld({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector()
    decided = select(selector, selection_call(230))
    assert len(decided.prepared) == len(world.live()) == 230
    assert max(Counter(claim.host for claim in world.live()).values()) == 4


@pytest.mark.parametrize(("count", "chunk", "chunks"), [(1, 0, 1), (100, 0, 1), (101, 1, 2), (230, 2, 3)])
def test_the_record_of_a_request_says_which_chunk_of_how_many_it_is_about(count, chunk, chunks):
    world = SelectorWorld({f"h{number:02}": node() for number in range(60)})
    selector, _ = world.selector()
    select(selector, selection_call(count))
    document = world.store.find_decision("req-1")
    assert (document["instances"], document["chunk"], document["chunks"]) == (count, chunk, chunks)


def test_a_large_request_that_does_not_fit_leaves_nothing_behind():
    world = SelectorWorld({f"h{number:02}": node() for number in range(30)})
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert world.live() == []
    assert world.store.verify().problems == []


def test_what_an_earlier_call_claimed_survives_the_failure_of_a_later_one():
    world = SelectorWorld({f"h{number:02}": node() for number in range(30)})
    selector, sight = world.selector()
    select(selector, selection_call(100))
    sight.reach(world.store.snapshot().position, 1)
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(121))
    assert len(world.live()) == 100
