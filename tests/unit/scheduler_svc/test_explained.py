# SPDX-License-Identifier: Apache-2.0
"""What the record of a decision tells whoever asks why: hosts that fell by name, and how fresh the worker was."""

from dataclasses import replace

import pytest

from rpcapi import errors
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline, samples
from scheduler_svc.weighers import scoring
from tests.unit.scheduler_svc import selecting
from tests.unit.scheduler_svc.hosts import node, request, table
from tests.unit.scheduler_svc.selecting import SelectorWorld, selection_call


@pytest.fixture
def world():
    return SelectorWorld()


def recorded(world, wish):
    return world.store.find_decision(wish.request.id)


def test_a_refusal_names_hosts_of_each_reason(world):
    wish = selection_call(asks=request({"VCPU": 1000}, ignore_hosts=("h1",)))
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost):
        selecting.select(selector, wish)
    told = recorded(world, wish)
    assert told["reasons"] == {"ignored host": 1, "not enough VCPU": 3}
    assert told["samples"] == {"ignored host": ["h1/n"], "not enough VCPU": ["h0/n", "h2/n", "h3/n"]}


def test_who_is_served_pays_for_no_names(world, monkeypatch):
    monkeypatch.setattr(samples, "take", lambda *given: pytest.fail("it was asked for names"))
    wish = selection_call()
    selector, _ = world.selector()
    selecting.select(selector, wish)
    assert "samples" not in recorded(world, wish)


def test_how_long_the_store_was_not_heard_of_is_told(world):
    wish = selection_call()
    selector, sight = world.selector()
    sight.last_contact_s = 1.23456
    selecting.select(selector, wish)
    assert recorded(world, wish)["heard_s"] == 1.235


def test_a_decision_on_fresh_hosts_is_behind_by_its_own_entry_alone(world):
    wish = selection_call()
    selector, _ = world.selector()
    selecting.select(selector, wish)
    told = recorded(world, wish)
    assert told["answered_position"] - told["position"] == 1


def test_a_decision_on_old_hosts_is_behind_by_what_it_did_not_know(world):
    selector, _ = world.selector()
    others = [world.selector()[0] for _ in range(2)]
    for number, other in enumerate(others):
        selecting.select(other, selection_call(first=10 + number))
    wish = selection_call()
    selecting.select(selector, wish)
    told = recorded(world, wish)
    assert told["answered_position"] - told["position"] == 3


def test_a_request_that_lost_a_race_tells_whom_it_lost_before_it_was_refused():
    world = SelectorWorld({"h0/n": node(), "h1/n": node()})
    eight = request({"VCPU": 8})
    late, _ = world.selector()
    early, _ = world.selector()
    selecting.select(early, selection_call(2, first=10, asks=eight))
    wish = selection_call(asks=replace(eight, id="req-2"))
    with pytest.raises(errors.NoValidHost):
        selecting.select(late, wish)
    told = recorded(world, wish)
    assert told["reasons"] == {"not enough VCPU": 2}
    assert sorted(told["lost"]) == [["h0/n", "CONCURRENT"], ["h1/n", "CONCURRENT"]]


def test_names_are_bounded_and_those_of_the_first_hosts():
    nodes = {f"h{number:03}": node({"VCPU": 1}) for number in range(50)}
    with table(nodes).reading() as view:
        found = samples.collect(pipeline.build(["ResourcesFilter"]), view, request({"VCPU": 2}))
    assert found == {"not enough VCPU": [f"h{number:03}" for number in range(samples.MAX_SAMPLES)]}


def test_names_go_with_the_counts_whatever_falls():
    nodes = {f"h{number}": node({"VCPU": number + 1}, zone=f"z{number % 3}") for number in range(12)}
    filters = pipeline.build(pipeline.NAMES)
    wish = request({"VCPU": 6}, availability_zone="z1", ignore_hosts=("h1", "h7"))
    with table(nodes, reads=FilterDriver(filters, scoring.build({})).reads).reading() as view:
        counted = pipeline.run(filters, view, wish).reasons
        named = samples.collect(filters, view, wish)
    assert {reason: min(count, samples.MAX_SAMPLES) for reason, count in counted.items()} == {
        reason: len(names) for reason, names in named.items()
    }
    every = [name for names in named.values() for name in names]
    assert len(set(every)) == len(every), "a host falls to one reason"
