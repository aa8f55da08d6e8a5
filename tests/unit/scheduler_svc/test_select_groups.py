# SPDX-License-Identifier: Apache-2.0
"""Server groups: what only the store knows of them is asked before a decision."""

from dataclasses import replace

import pytest

from rpcapi import errors
from rpcapi.model.claims import GroupPolicy, Verdict
from scheduler_svc.store.records import ClaimGroup
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.selecting import RefusingClaimer, SelectorWorld, select, selection_call


def test_hosts_that_the_group_rules_out_are_not_offered_again():
    refusing = RefusingClaimer(Verdict.GROUP)
    nodes = {f"h{number:02}": node() for number in range(20)}
    selector, _ = SelectorWorld(nodes).selector(refusing, max_tries=3)
    with pytest.raises(errors.NoValidHost, match="20 server group policy"):
        select(selector, selection_call())
    offered = [{candidate.host for candidate in batch.intents[0].candidates} for batch in refusing.batches]
    assert [len(each) for each in offered] == [16, 4, 0]
    assert not offered[0] & offered[1]


def test_affinity_puts_all_instances_on_one_host():
    world = SelectorWorld()
    selector, _ = world.selector()
    together = request(group=ClaimGroup("g", GroupPolicy.AFFINITY))
    decided = select(selector, selection_call(4, asks=together))
    assert len({one.host for one in decided.prepared}) == 1


def test_affinity_finds_the_groups_host_whatever_others_score():
    nodes = {f"h{number:02}": node({"VCPU": 8 + number}) for number in range(40)}
    world = SelectorWorld(nodes)
    selector, _ = world.selector()
    one = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.AFFINITY))
    select(selector, selection_call(asks=replace(one, force_hosts=("h00",))))
    assert select(selector, selection_call(3, first=1, asks=one)).prepared[2].host == "h00"
    with pytest.raises(errors.NoValidHost, match="39 server group policy, 1 not enough VCPU"):
        select(selector, selection_call(first=4, asks=replace(one, resources={"VCPU": 5})))


def test_anti_affinity_finds_the_last_host_that_has_none_of_a_large_group():
    nodes = {f"h{number:02}": node({"VCPU": 100 - number}) for number in range(60)}
    world = SelectorWorld(nodes)
    selector, _ = world.selector()
    apart = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    select(selector, selection_call(59, asks=apart))
    assert select(selector, selection_call(first=59, asks=apart)).prepared[0].host == "h59"


def test_anti_affinity_finds_room_beside_what_the_group_has():
    world = SelectorWorld({f"h{number:02}": node() for number in range(20)})
    selector, _ = world.selector()
    apart = request(group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    chosen = [select(selector, selection_call(first=number, asks=replace(apart, id=f"r{number}"))) for number in range(20)]
    assert len({one.prepared[0].host for one in chosen}) == 20
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(first=20, asks=apart))
