# SPDX-License-Identifier: Apache-2.0
"""Decisions over provider trees, claimed in a store: the allocations by provider."""

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import MAX_INSTANCES, GroupPolicy
from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.search import MAX_STEPS
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimGroup, Intent
from scheduler_svc.core.trees import finder
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.ranking import CurrentPolicy
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, unchanged
from tests.support.scheduler.schedulers import HostPartition, allocations_by_consumer, select, selection_call

GPU = "CUSTOM_GPU"


def card(parent, amount=1):
    return node({GPU: amount}) | {"parent": parent}


def cards(host, count, amount=1):
    return {host: node()} | {f"{host}/gpu{number}": card(host, amount) for number in range(count)}


def device_request(groups=1, policy="isolate", resources=None, **more):
    device_groups = tuple(RequestGroup(f"_{number}", {GPU: 1}) for number in range(groups))
    return request({"VCPU": 1} if resources is None else resources, groups=device_groups, groups_policy=policy, **more)


def test_claim_covers_several_providers():
    partition = HostPartition(cards("a", 2) | {"b": node()})
    scheduler, _ = partition.scheduler()
    selection = select(scheduler, selection_call(scheduling_request=device_request(2)))
    assert [result.host for result in selection.prepared] == ["a"]
    assert allocations_by_consumer(partition) == {"vm-0": {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}, "a/gpu1": {GPU: 1}}}
    assert partition.store.verify().problems == []


def test_instances_of_a_call_get_distinct_providers():
    partition = HostPartition(cards("a", 3) | cards("b", 2))
    scheduler, _ = partition.scheduler()
    selection = select(scheduler, selection_call(5, scheduling_request=device_request()))
    assert sorted(result.host for result in selection.prepared) == ["a"] * 3 + ["b"] * 2
    assert len({tuple(set(amounts) - {"a", "b"}) for amounts in allocations_by_consumer(partition).values()}) == 5
    assert all(len(result.verdicts) == 1 for result in selection.prepared)  # no instance lost its first choice


def test_call_with_too_many_instances_is_refused_with_a_reason_for_every_host():
    partition = HostPartition(cards("a", 3) | cards("b", 2) | {"c": node()})
    scheduler, _ = partition.scheduler()
    with pytest.raises(errors.NoValidHost) as caught:
        select(scheduler, selection_call(6, scheduling_request=device_request()))
    assert "1 no provider for group _0" in str(caught.value)
    assert "2 capacity taken by the rest of this request" in str(caught.value)
    assert partition.live() == []


def test_host_whose_tree_fits_groups_only_separately_is_dropped():
    """Isolated groups do not share a device, so the host with two devices serves them."""
    partition = HostPartition(
        {"a": node({"VCPU": 64}), "a/x": node({GPU: 1, "CUSTOM_VF": 1}) | {"parent": "a"}}
        | {"b": node({"VCPU": 8}), "b/x": node({GPU: 1, "CUSTOM_VF": 1}) | {"parent": "b"}, "b/y": card("b")}
    )
    groups = (RequestGroup("_g", {GPU: 1}), RequestGroup("_v", {"CUSTOM_VF": 1}))
    scheduler, _ = partition.scheduler()
    selection = select(
        scheduler, selection_call(scheduling_request=request({"VCPU": 1}, groups=groups, groups_policy="isolate"))
    )
    assert [result.host for result in selection.prepared] == ["b"]
    document = partition.store.find_decision("req-1")
    assert document["reasons"] == {"no provider tree fits": 1}


@pytest.mark.parametrize("count", [100, 101, MAX_INSTANCES])
def test_each_instance_of_a_large_request_gets_a_provider_of_its_own(count):
    root = {"VCPU": 8, "MEMORY_MB": 1024, "DISK_GB": 10}
    hosts_of_eight = range(-(-count // 8))
    nodes = {f"h{number}": node(root) for number in hosts_of_eight}
    nodes |= {f"h{number}/gpu{slot}": card(f"h{number}") for number in hosts_of_eight for slot in range(8)}
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    result = select(scheduler, selection_call(count, scheduling_request=device_request()))
    providers = {name for prepared in result.prepared for name in prepared.allocations or () if "/" in name}
    assert len(providers) == len(result.prepared) == count
    assert partition.store.verify().problems == []


def test_exhausted_search_steps_are_a_refusal_reason(monkeypatch):
    monkeypatch.setattr(finder, "MAX_STEPS", 0)
    partition = HostPartition(cards("a", 2) | cards("b", 2))
    scheduler, _ = partition.scheduler()
    with pytest.raises(errors.NoValidHost, match="2 not decided within the search budget"):
        select(scheduler, selection_call(2, scheduling_request=device_request(2)))
    assert partition.live() == []


def test_undecided_hosts_are_searched_once_more(monkeypatch):
    """Given two steps too few for the first search, one for the host and one for each device."""
    monkeypatch.setattr(finder, "MAX_STEPS", 1)
    partition = HostPartition(cards("a", 2))
    scheduler, _ = partition.scheduler()
    assert [result.host for result in select(scheduler, selection_call(scheduling_request=device_request(2))).prepared]
    assert partition.store.find_decision("req-1")["reasons"] == {}


def test_shared_pool_is_claimed_with_the_host():
    nodes = {"a": node({"VCPU": 8}), "pool": node({"DISK_GB": 100}, [SHARING_TRAIT]) | {"kind": "volume"}}
    partition = HostPartition(nodes, namespaces=("aggregate",))
    scheduler, replica_view = partition.scheduler()
    replica_view.table.add_reads({"aggregate": frozenset({"hosts", "metadata"})})
    with replica_view.table.reading() as view:
        assert view.trees.sharing_rows.tolist() == [view.row("pool")]
    with pytest.raises(errors.NoValidHost, match="not enough DISK_GB"):
        select(scheduler, selection_call(scheduling_request=request({"VCPU": 1, "DISK_GB": 10})))
    partition.store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", "pool"], "metadata": {}})
    replica_view.reach(partition.store.state.position, 1)
    select(scheduler, selection_call(scheduling_request=request({"VCPU": 1, "DISK_GB": 10})))
    assert allocations_by_consumer(partition) == {"vm-0": {"a": {"VCPU": 1}, "pool": {"DISK_GB": 10}}}


def test_volume_request_claims_space_of_its_pool():
    pools = {
        f"pool{number}": node({"DISK_GB": 100 * number + 5}, [SHARING_TRAIT]) | {"kind": "volume"}
        for number in range(2)
    }
    partition = HostPartition({"a": node()} | pools, namespaces=("aggregate",))
    partition.store.put_state("aggregate", "rack", 0, {"name": "rack", "hosts": ["a", *pools], "metadata": {}})
    scheduler, replica_view = partition.scheduler()
    replica_view.table.add_reads({"aggregate": frozenset({"hosts", "metadata"})})
    replica_view.replica.load()
    (result,) = select(
        scheduler, selection_call(scheduling_request=request({"DISK_GB": 10}, service="volume"))
    ).prepared
    assert (result.host, result.alternates) == ("pool1", ())
    assert allocations_by_consumer(partition) == {"vm-0": {"pool1": {"DISK_GB": 10}}}


def test_affinity_group_lands_on_a_tree_that_fits_all_instances():
    partition = HostPartition(cards("a", 1) | cards("b", 3) | cards("c", 2))
    scheduler, _ = partition.scheduler()
    group = ClaimGroup("g", GroupPolicy.AFFINITY)
    selection = select(scheduler, selection_call(3, scheduling_request=device_request(group=group)))
    assert {result.host for result in selection.prepared} == {"b"}


def test_affinity_group_that_no_tree_fits_is_refused():
    """Isolated groups do not share a device, which columns do not show."""
    devices = node({GPU: 2, "CUSTOM_VF": 2}) | {"parent": "a"}
    scheduler, _ = HostPartition({"a": node({"VCPU": 64}), "a/x": devices}).scheduler()
    grouped = request(
        {"VCPU": 1},
        groups=(RequestGroup("_g", {GPU: 1}), RequestGroup("_v", {"CUSTOM_VF": 1})),
        groups_policy="isolate",
        group=ClaimGroup("g", GroupPolicy.AFFINITY),
    )
    with pytest.raises(errors.NoValidHost, match="1 no provider tree fits"):
        select(scheduler, selection_call(2, scheduling_request=grouped))


def test_worker_retries_with_another_device_after_losing_one():
    partition = HostPartition(cards("a", 2))
    first, _ = partition.scheduler()
    second, replica_view = partition.scheduler()
    select(first, selection_call(scheduling_request=device_request()))
    select(second, selection_call(first=1, scheduling_request=device_request()))  # it has not read the first claim yet
    assert sorted(name for amounts in allocations_by_consumer(partition).values() for name in amounts) == [
        "a",
        "a",
        "a/gpu0",
        "a/gpu1",
    ]
    assert replica_view.reached


def test_ordinary_request_claims_from_the_root_of_a_nested_host():
    partition = HostPartition(cards("a", 2))
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(3))
    assert all(amounts.keys() == {"a"} for amounts in allocations_by_consumer(partition).values())


def test_ordinary_request_on_a_numa_host_claims_from_one_cell():
    cell = node({"VCPU": 4, "MEMORY_MB": 8192}) | {"parent": "a"}
    partition = HostPartition({"a": node({"DISK_GB": 100}), "a/numa0": cell, "a/numa1": cell})
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(4))
    by_cell = [name for amounts in allocations_by_consumer(partition).values() for name in amounts if name != "a"]
    assert sorted(by_cell) == ["a/numa0"] * 2 + ["a/numa1"] * 2


def test_overcommitted_provider_does_not_reduce_its_siblings():
    """A device removed while in use, or a cell with a lowered ratio, has negative free capacity."""
    device = "CUSTOM_PCI_8086_1520"
    scheduling_request = request({"VCPU": 1}, groups=(RequestGroup("_pci0", {device: 1}),))
    documents = {"a": node()} | {f"a/nic{number}": node({device: 2}) | {"parent": "a"} for number in range(2)}
    partition = HostPartition(documents)
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(2, scheduling_request=scheduling_request))
    (used,) = {name for amounts in allocations_by_consumer(partition).values() for name in amounts if name != "a"}
    hosts.join(partition.store, documents | {used: node() | {"parent": "a"}}, sequence=2)
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call(2, first=2, scheduling_request=scheduling_request))
    assert len(partition.live()) == 4


def test_refusal_names_hosts_whose_trees_do_not_fit():
    """Each group alone fits a device of "a", both together do not."""
    partition = HostPartition(cards("a", 1, amount=2) | {"b": node()})
    scheduler, _ = partition.scheduler()
    groups = (RequestGroup("_0", {GPU: 1}), RequestGroup("_1", {GPU: 2}))
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(scheduling_request=request({"VCPU": 1}, groups=groups, groups_policy="none")))
    documents = partition.store.find_decision("req-1")
    assert documents["reasons"] == {"no provider for group _0": 1, "no provider tree fits": 1}
    assert documents["samples"] == {"no provider for group _0": ["b"], "no provider tree fits": ["a"]}


@pytest.mark.parametrize("max_steps", [MAX_STEPS, 1])
def test_alternates_get_current_allocations_of_their_trees(monkeypatch, max_steps):
    """Given one step too few for the first search, hosts are searched once more."""
    monkeypatch.setattr(finder, "MAX_STEPS", max_steps)
    partition = HostPartition(cards("a", 1) | cards("b", 2) | cards("c", 1))
    scheduler, replica_view = partition.scheduler()
    select(scheduler, selection_call(first=7, scheduling_request=device_request(force_hosts=("b",))))
    replica_view.reach(partition.store.state.position, 1)
    alternates = AlternateClaimer(CurrentPolicy(FILTER_POLICY), partition.store, replica_view, 1.0, unchanged)
    state = partition.store.state
    batch = ClaimBatch(
        *("r", "p", "u", {"VCPU": 1}),
        intents=[Intent(name, 1, [Candidate("b"), Candidate("c")]) for name in ("vm-1", "vm-2")],
        **{"epoch": state.epoch, "position": state.position, "ttl_ms": 60_000},
    )
    served = alternates.prepare(context.new(), device_request(), batch)
    assert served.answer.accepted
    assert allocations_by_consumer(partition)["vm-1"] == {"b": {"VCPU": 1}, "b/gpu1": {GPU: 1}}
    assert allocations_by_consumer(partition)["vm-2"] == {"c": {"VCPU": 1}, "c/gpu0": {GPU: 1}}
