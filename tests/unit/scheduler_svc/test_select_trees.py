# SPDX-License-Identifier: Apache-2.0
"""Decisions over provider trees, claimed in a store: who is given what of which provider."""

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import GroupPolicy
from rpcapi.model.groups import RequestGroup
from rpcapi.model.trees import SHARING_TRAIT
from scheduler_svc.candidates import finder
from scheduler_svc.candidates.ranking import fit_to_trees
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.deciding.alternates import AlternateClaimer
from scheduler_svc.drivers.driver import Ranking
from scheduler_svc.filters import pipeline
from scheduler_svc.store.records import Candidate, ClaimBatch, ClaimGroup, Intent
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request
from tests.unit.scheduler_svc.selecting import SelectorWorld, select, selection_call

GPU = "CUSTOM_GPU"


def card(parent, amount=1):
    return node({GPU: amount}) | {"parent": parent}


def cards(host, count, amount=1):
    return {host: node()} | {f"{host}/gpu{number}": card(host, amount) for number in range(count)}


def wish(groups=1, policy="isolate", resources=None, **more):
    wanted = tuple(RequestGroup(f"_{number}", {GPU: 1}) for number in range(groups))
    return request({"VCPU": 1} if resources is None else resources, groups=wanted, groups_policy=policy, **more)


def held(world):
    return {claim.consumer: {name: dict(its) for name, its in claim.allocations.items()} for claim in world.live()}


def test_a_claim_is_made_over_several_providers():
    world = SelectorWorld(cards("a", 2) | {"b": node()})
    selector, _ = world.selector()
    decided = select(selector, selection_call(asks=wish(2)))
    assert [one.host for one in decided.prepared] == ["a"]
    assert held(world) == {"vm-0": {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}, "a/gpu1": {GPU: 1}}}
    assert world.store.verify().problems == []


def test_instances_of_one_call_are_given_what_those_before_them_left():
    world = SelectorWorld(cards("a", 3) | cards("b", 2))
    selector, _ = world.selector()
    decided = select(selector, selection_call(5, asks=wish()))
    assert sorted(one.host for one in decided.prepared) == ["a"] * 3 + ["b"] * 2
    assert len({tuple(set(its) - {"a", "b"}) for its in held(world).values()}) == 5
    assert all(len(one.verdicts) == 1 for one in decided.prepared)  # nobody's first choice was another's


def test_one_instance_too_many_is_refused_with_a_reason_for_every_host():
    world = SelectorWorld(cards("a", 3) | cards("b", 2) | {"c": node()})
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost) as caught:
        select(selector, selection_call(6, asks=wish()))
    assert "1 no provider for group _0" in str(caught.value)
    assert "2 no" in str(caught.value)
    assert world.live() == []


def test_a_host_whose_parts_fit_only_one_by_one_falls_and_the_next_is_taken():
    """Given amounts that no two groups can have of one card together, then the host with two cards serves them."""
    world = SelectorWorld(
        {"a": node({"VCPU": 64}), "a/x": node({GPU: 1, "CUSTOM_VF": 1}) | {"parent": "a"}}
        | {"b": node({"VCPU": 8}), "b/x": node({GPU: 1, "CUSTOM_VF": 1}) | {"parent": "b"}, "b/y": card("b")}
    )
    groups = (RequestGroup("_g", {GPU: 1}), RequestGroup("_v", {"CUSTOM_VF": 1}))
    selector, _ = world.selector()
    decided = select(selector, selection_call(asks=request({"VCPU": 1}, groups=groups, groups_policy="isolate")))
    assert [one.host for one in decided.prepared] == ["b"]
    document = world.store.find_decision("req-1")
    assert document["reasons"] == {"no provider tree fits": 1}


def test_a_search_that_would_take_too_long_is_a_reason_like_others(monkeypatch):
    monkeypatch.setattr(finder, "MAX_DECISION_STEPS", finder.TREE_READ_STEPS)
    world = SelectorWorld(cards("a", 2) | cards("b", 2))
    selector, _ = world.selector()
    with pytest.raises(errors.NoValidHost, match="2 no provider tree found within the steps allowed"):
        select(selector, selection_call(2, asks=wish(2)))
    assert world.live() == []


def test_what_a_pool_shares_is_claimed_with_the_host():
    nodes = {"a": node({"VCPU": 8}), "pool": node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"}}
    world = SelectorWorld(nodes, namespaces=("aggregate",))
    selector, sight = world.selector()
    sight.table.add_reads({"aggregate": frozenset({"hosts", "metadata"})})
    with sight.table.reading() as view:
        assert view.trees.sharing_rows.tolist() == [view.row("pool")]
    with pytest.raises(errors.NoValidHost, match="not enough DISK_GB"):
        select(selector, selection_call(asks=request({"VCPU": 1, "DISK_GB": 10})))
    world.store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", "pool"], "metadata": {}})
    sight.reach(world.store.state.position, 1)
    select(selector, selection_call(asks=request({"VCPU": 1, "DISK_GB": 10})))
    assert held(world) == {"vm-0": {"a": {"VCPU": 1}, "pool": {"DISK_GB": 10}}}


def test_a_volume_by_itself_takes_the_space_of_the_pool_that_it_is_placed_on():
    pools = {f"pool{number}": node({"DISK_GB": 100 * number + 5}, [SHARING_TRAIT]) | {"kind": "volume"} for number in range(2)}
    world = SelectorWorld({"a": node()} | pools, namespaces=("aggregate",))
    world.store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", *pools], "metadata": {}})
    selector, sight = world.selector()
    sight.table.add_reads({"aggregate": frozenset({"hosts", "metadata"})})
    sight.replica.load()
    (one,) = select(selector, selection_call(asks=request({"DISK_GB": 10}, service="volume"))).prepared
    assert (one.host, one.alternates) == ("pool1", ())
    assert held(world) == {"vm-0": {"pool1": {"DISK_GB": 10}}}


def test_an_affinity_group_lands_on_a_tree_that_takes_all_of_it():
    world = SelectorWorld(cards("a", 1) | cards("b", 3) | cards("c", 2))
    selector, _ = world.selector()
    group = ClaimGroup("g", GroupPolicy.AFFINITY)
    decided = select(selector, selection_call(3, asks=wish(group=group)))
    assert {one.host for one in decided.prepared} == {"b"}


def test_a_worker_that_lost_a_card_to_another_decides_anew_on_what_is_left():
    world = SelectorWorld(cards("a", 2))
    first, _ = world.selector()
    second, sight = world.selector()
    select(first, selection_call(asks=wish()))
    select(second, selection_call(first=1, asks=wish()))  # it does not know of the first claim yet
    assert sorted(name for its in held(world).values() for name in its) == ["a", "a", "a/gpu0", "a/gpu1"]
    assert sight.reached


def test_an_ordinary_request_takes_of_a_host_with_children_what_the_host_has():
    world = SelectorWorld(cards("a", 2))
    selector, _ = world.selector()
    select(selector, selection_call(3))
    assert all(its.keys() == {"a"} for its in held(world).values())


def test_an_ordinary_request_takes_of_a_host_of_cells_what_one_cell_has():
    cell = node({"VCPU": 4, "MEMORY_MB": 8192}) | {"parent": "a"}
    world = SelectorWorld({"a": node({"DISK_GB": 100}), "a/numa0": cell, "a/numa1": cell})
    selector, _ = world.selector()
    select(selector, selection_call(4))
    by_cell = [name for its in held(world).values() for name in its if name != "a"]
    assert sorted(by_cell) == ["a/numa0"] * 2 + ["a/numa1"] * 2


def test_a_provider_that_is_over_takes_nothing_from_what_its_siblings_have():
    """A device that is gone while it is used, or a cell whose ratio was lowered, has less than nothing free."""
    device = "CUSTOM_PCI_8086_1520"
    asks = request({"VCPU": 1}, groups=(RequestGroup("_pci0", {device: 1}),))
    told = {"a": node()} | {f"a/nic{number}": node({device: 2}) | {"parent": "a"} for number in range(2)}
    world = SelectorWorld(told)
    selector, _ = world.selector()
    select(selector, selection_call(2, asks=asks))
    (used,) = {name for its in held(world).values() for name in its if name != "a"}
    hosts.join(world.store, told | {used: node() | {"parent": "a"}}, sequence=2)
    selector, _ = world.selector()
    select(selector, selection_call(2, first=2, asks=asks))
    assert len(world.live()) == 4


def test_a_refusal_names_hosts_whose_trees_give_nothing():
    """Each group alone has a card on "a", and the two together have not."""
    world = SelectorWorld(cards("a", 1, amount=2) | {"b": node()})
    selector, _ = world.selector()
    groups = (RequestGroup("_0", {GPU: 1}), RequestGroup("_1", {GPU: 2}))
    with pytest.raises(errors.NoValidHost):
        select(selector, selection_call(asks=request({"VCPU": 1}, groups=groups, groups_policy="none")))
    told = world.store.find_decision("req-1")
    assert told["reasons"] == {"no provider for group _0": 1, "no provider tree fits": 1}
    assert told["samples"] == {"no provider for group _0": ["b"], "no provider tree fits": ["a"]}


def test_alternates_are_given_what_their_trees_have_now():
    world = SelectorWorld(cards("a", 1) | cards("b", 2) | cards("c", 1))
    selector, sight = world.selector()
    select(selector, selection_call(first=7, asks=wish(force_hosts=("b",))))
    sight.reach(world.store.state.position, 1)
    alternates = AlternateClaimer(world.store, sight, pipeline.build_eligibility(DEFAULT_FILTERS), catch_up_s=1.0)
    state = world.store.state
    batch = ClaimBatch(
        *("r", "p", "u", {"VCPU": 1}),
        intents=[Intent(name, 1, [Candidate("b"), Candidate("c")]) for name in ("vm-1", "vm-2")],
        **{"epoch": state.epoch, "position": state.position, "ttl_ms": 60_000},
    )
    (served,) = alternates.prepare(context.new(), wish(), batch)
    assert served.answer.accepted
    assert held(world)["vm-1"] == {"b": {"VCPU": 1}, "b/gpu1": {GPU: 1}}
    assert held(world)["vm-2"] == {"c": {"VCPU": 1}, "c/gpu0": {GPU: 1}}


def test_a_ranking_made_with_others_is_fitted_to_trees_or_given_back():
    """Given hosts of cells, ranked by their sums, then what fits no cell of theirs is to be ranked by itself."""
    cell = node({"VCPU": 4, "MEMORY_MB": 8192}) | {"parent": "a"}
    world = SelectorWorld({"a": node({"DISK_GB": 100}), "a/numa0": cell, "a/numa1": cell, "b": node()})
    _, sight = world.selector()
    with sight.table.reading() as view:
        small = fit_to_trees(view, request(), Ranking([["a", "b"]] * 3, 2, {}))
        assert [list(its) for its in small.allocations] == [["a"]] * 3
        assert small.allocations[2]["a"].keys() == {"a", "a/numa1"}
        assert fit_to_trees(view, request({"VCPU": 5, "DISK_GB": 1}), Ranking([["a"]], 2, {})) is None
        nobody = Ranking((), 2, {"service down": 2})
        assert fit_to_trees(view, request(), nobody) is nobody


def celled(host, pinned):
    """Return a node with two cells of two cores each, of which the CPUs of ``pinned`` are taken."""
    state = [
        {
            **{"id": number, "path": f"numa{number}", "socket": number, "cores": [[4 * number], [4 * number + 1]]},
            **{"shared": "", "threads": 1, "pinned": pinned[number], "pages": {}},
        }
        for number in range(2)
    ]
    cell = node({"PCPU": 2, "MEMORY_MB": 8192}) | {"parent": host}
    return {host: node({"DISK_GB": 100}) | {"numa": state}, f"{host}/numa0": cell, f"{host}/numa1": cell}


def pinned_guest(cpus):
    cells = [{"id": 0, "group": "_numa0", "cpus": list(range(cpus)), "pcpus": list(range(cpus)), "memory_mb": 64}]
    numa = {"cells": cells, "cpu_policy": "dedicated", "thread_policy": "isolate", "page_size_kb": None}
    group = RequestGroup("_numa0", {"PCPU": cpus, "MEMORY_MB": 64})
    return request({"DISK_GB": 1}, groups=(group,), groups_policy="none", numa=numa)


def test_what_a_host_would_not_pin_is_not_claimed_there():
    """Given cells whose claims leave room that their cores, as reported, do not, then another cell is taken, or none.

    The host says that a core of its first cell is gone for good, which no inventory tells.
    """
    nodes = celled("a", ["", ""])
    nodes["a"]["numa"][0]["cores"] = [[0]]
    world = SelectorWorld(nodes)
    selector, _ = world.selector()
    select(selector, selection_call(asks=pinned_guest(2)))
    assert held(world) == {"vm-0": {"a": {"DISK_GB": 1}, "a/numa1": {"PCPU": 2, "MEMORY_MB": 64}}}
    with pytest.raises(errors.NoValidHost, match="1 no fitting provider tree was accepted"):
        select(world.selector()[0], selection_call(first=1, asks=pinned_guest(2)))
    select(world.selector()[0], selection_call(first=2, asks=pinned_guest(1)))
    assert held(world)["vm-2"]["a/numa0"] == {"PCPU": 1, "MEMORY_MB": 64}


def test_instances_of_one_call_are_pinned_beside_each_other():
    world = SelectorWorld(celled("a", ["", ""]) | celled("b", ["0", ""]))
    selector, _ = world.selector()
    select(selector, selection_call(4, asks=pinned_guest(1)))
    select(world.selector()[0], selection_call(2, first=4, asks=pinned_guest(2)))
    cells = [(name, its["PCPU"]) for given in held(world).values() for name, its in given.items() if "PCPU" in its]
    sums = {name: sum(amount for each, amount in cells if each == name) for name, _ in cells}
    assert len(cells) == 6
    assert all(amount <= 2 for amount in sums.values())
