# SPDX-License-Identifier: Apache-2.0
"""Server groups: what only the store knows of them is asked before a decision."""

from dataclasses import replace

import pytest

from rpcapi import errors
from rpcapi.model.claims import GroupPolicy, Verdict
from scheduler_svc.store.records import Group
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.selecting import Refusing, World, asked, select


def test_hosts_that_the_group_rules_out_are_not_offered_again():
    refusing = Refusing(Verdict.GROUP)
    nodes = {f"h{number:02}": node() for number in range(20)}
    selector, _ = World(nodes).selector(refusing, rounds=3)
    with pytest.raises(errors.NoValidHost, match="20 server group policy"):
        select(selector, asked())
    offered = [{candidate.host for candidate in batch.intents[0].candidates} for batch in refusing.batches]
    assert [len(each) for each in offered] == [16, 4, 0]
    assert not offered[0] & offered[1]


def test_affinity_puts_all_instances_on_one_host():
    world = World()
    selector, _ = world.selector()
    together = request(group=Group("g", GroupPolicy.AFFINITY))
    decided = select(selector, asked(4, asks=together))
    assert len({one.host for one in decided.prepared}) == 1


def test_affinity_finds_the_groups_host_whatever_others_score():
    nodes = {f"h{number:02}": node({"VCPU": 8 + number}) for number in range(40)}
    world = World(nodes)
    selector, _ = world.selector()
    one = request({"VCPU": 1}, group=Group("g", GroupPolicy.AFFINITY))
    select(selector, asked(asks=replace(one, force_hosts=("h00",))))
    assert select(selector, asked(3, first=1, asks=one)).prepared[2].host == "h00"
    with pytest.raises(errors.NoValidHost, match="39 server group policy, 1 not enough VCPU"):
        select(selector, asked(first=4, asks=replace(one, resources={"VCPU": 5})))


def test_anti_affinity_finds_the_last_host_that_has_none_of_a_large_group():
    nodes = {f"h{number:02}": node({"VCPU": 100 - number}) for number in range(60)}
    world = World(nodes)
    selector, _ = world.selector()
    apart = request({"VCPU": 1}, group=Group("g", GroupPolicy.ANTI_AFFINITY))
    select(selector, asked(59, asks=apart))
    assert select(selector, asked(first=59, asks=apart)).prepared[0].host == "h59"


def test_anti_affinity_finds_room_beside_what_the_group_has():
    world = World({f"h{number:02}": node() for number in range(20)})
    selector, _ = world.selector()
    apart = request(group=Group("g", GroupPolicy.ANTI_AFFINITY))
    chosen = [select(selector, asked(first=number, asks=replace(apart, id=f"r{number}"))) for number in range(20)]
    assert len({one.prepared[0].host for one in chosen}) == 20
    with pytest.raises(errors.NoValidHost):
        select(selector, asked(first=20, asks=apart))
