# SPDX-License-Identifier: Apache-2.0
"""The decision record for explain: names of rejected hosts, and the freshness of the worker's table."""

from dataclasses import replace

import pytest

from rpcapi import errors
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline, samples
from scheduler_svc.core.weighers import scoring
from tests.unit.scheduler_svc.fakes import selectors
from tests.unit.scheduler_svc.fakes.hosts import node, request, table
from tests.unit.scheduler_svc.fakes.selectors import SelectorWorld, selection_call


@pytest.fixture
def world():
    return SelectorWorld()


def find_record(world, call):
    return world.store.find_decision(call.request.id)


def test_refusal_names_hosts_for_each_reason(world):
    call = selection_call(asks=request({"VCPU": 1000}, ignore_hosts=("h1",)))
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost):
        selectors.select(selector, call)
    record = find_record(world, call)
    assert record["reasons"] == {"ignored host": 1, "not enough VCPU": 3}
    assert record["samples"] == {"ignored host": ["h1/n"], "not enough VCPU": ["h0/n", "h2/n", "h3/n"]}


def test_served_request_collects_no_sample_hosts(world, monkeypatch):
    monkeypatch.setattr(samples, "collect", lambda *args: pytest.fail("host names were collected"))
    call = selection_call()
    selector, _ = world.selector()
    selectors.select(selector, call)
    assert "samples" not in find_record(world, call)


def test_record_has_the_time_since_the_last_contact(world):
    call = selection_call()
    selector, sight = world.selector()
    sight.last_contact_s = 1.23456
    selectors.select(selector, call)
    assert find_record(world, call)["heard_s"] == 1.235


def test_decision_on_a_fresh_table_lags_by_its_own_entry(world):
    call = selection_call()
    selector, _ = world.selector()
    selectors.select(selector, call)
    record = find_record(world, call)
    assert record["answered_position"] - record["position"] == 1


def test_decision_on_a_stale_table_lags_by_unread_entries(world):
    selector, _ = world.selector()
    others = [world.selector()[0] for _ in range(2)]
    for number, other in enumerate(others):
        selectors.select(other, selection_call(first=10 + number))
    call = selection_call()
    selectors.select(selector, call)
    record = find_record(world, call)
    assert record["answered_position"] - record["position"] == 3


def test_record_of_a_refusal_names_candidates_lost_before():
    world = SelectorWorld({"h0/n": node(), "h1/n": node()})
    eight = request({"VCPU": 8})
    late, _ = world.selector()
    early, _ = world.selector()
    selectors.select(early, selection_call(2, first=10, asks=eight))
    call = selection_call(asks=replace(eight, id="req-2"))
    with pytest.raises(errors.NoValidHost):
        selectors.select(late, call)
    record = find_record(world, call)
    assert record["reasons"] == {"not enough VCPU": 2}
    assert sorted(record["lost"]) == [["h0/n", "CONCURRENT"], ["h1/n", "CONCURRENT"]]


def test_sample_hosts_are_bounded_and_in_table_order():
    nodes = {f"h{number:03}": node({"VCPU": 1}) for number in range(50)}
    with table(nodes).reading() as view:
        samples_ = samples.collect(pipeline.build(["ResourcesFilter"]), view, request({"VCPU": 2}))
    assert samples_ == {"not enough VCPU": [f"h{number:03}" for number in range(samples.MAX_SAMPLES)]}


def test_sample_hosts_match_the_reason_counts():
    nodes = {f"h{number}": node({"VCPU": number + 1}, zone=f"z{number % 3}") for number in range(12)}
    filters = pipeline.build(pipeline.NAMES)
    call = request({"VCPU": 6}, availability_zone="z1", ignore_hosts=("h1", "h7"))
    with table(nodes, reads=FilterDriver(filters, scoring.build({})).reads).reading() as view:
        reasons = pipeline.run(filters, view, call).reasons
        samples_ = samples.collect(filters, view, call)
    assert {reason: min(count, samples.MAX_SAMPLES) for reason, count in reasons.items()} == {
        reason: len(names) for reason, names in samples_.items()
    }
    every = [name for names in samples_.values() for name in names]
    assert len(set(every)) == len(every), "a host falls to one reason"
