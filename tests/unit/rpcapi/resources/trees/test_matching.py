# SPDX-License-Identifier: Apache-2.0
"""Request groups that are matched with the allocations of a claim."""

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology
from rpcapi.resources.trees.matching import match_allocations
from rpcapi.resources.trees.search import StepBudget
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest

GPU = "CUSTOM_GPU"


def test_allocations_with_other_amounts_than_requested_do_not_match():
    tree = ProviderTree([Provider("h"), Provider("h/gpu0", "h"), Provider("h/gpu1", "h")])
    request = TreeRequest([RequestGroup("", {"VCPU": 1, "MEMORY_MB": 512}), RequestGroup("_0", {GPU: 1})])
    complete = {"h": {"VCPU": 1, "MEMORY_MB": 512}, "h/gpu0": {GPU: 1}}
    assert list(match_allocations(tree, request, complete, StepBudget()))
    assert not list(match_allocations(tree, request, complete | {"h": {"VCPU": 1}}, StepBudget()))


def test_allocations_from_a_provider_of_another_host_match():
    tree = ProviderTree([Provider("h", None, {"VCPU": ProviderInventory(1)})])
    request = TreeRequest(
        [RequestGroup("", {"VCPU": 1, "DISK_GB": 5}, required=("CUSTOM_SSD",), member_of=(("agg",),))]
    )
    (candidate,) = match_allocations(tree, request, {"h": {"VCPU": 1}, "pool": {"DISK_GB": 5}}, StepBudget())
    assert candidate.providers == {"": ("h", "pool")}


def test_topology_decides_which_of_equal_groups_is_where():
    cells = [Provider(f"h/numa{n}", "h", symmetry_key=n) for n in range(4)]
    cards = [Provider(f"h/numa{n}/gpu", f"h/numa{n}", symmetry_key=n) for n in range(4)]
    tree = ProviderTree([Provider("h"), *cells, *cards])
    suffixes = [f"_{n}" for n in range(4)]
    request = TreeRequest(
        [
            RequestGroup("_numa0", {"PCPU": 1}),
            RequestGroup("_numa1", {"PCPU": 1}),
            *(RequestGroup(suffix, {GPU: 1}) for suffix in suffixes),
        ],
        "none",
    )
    guests = tuple(GuestCell(n, f"_numa{n}", (), (n,)) for n in range(2))
    near = dict(zip(suffixes, (DevicePolicy.PREFERRED, DevicePolicy.REQUIRED) * 2, strict=True))
    host_cells = {f"h/numa{n}": HostCell(n, f"numa{n}", cores=((n,),)) for n in range(4)}
    numa = NumaConditions(GuestTopology(guests, devices=near), host_cells)
    allocations = {"h/numa2": {"PCPU": 1}, "h/numa3": {"PCPU": 1}} | {card.id: {GPU: 1} for card in cards}
    candidate = next(match_allocations(tree, request, allocations, StepBudget(), numa))
    assert {name for suffix in ("_1", "_3") for name in candidate.providers[suffix]} == {"h/numa2/gpu", "h/numa3/gpu"}
