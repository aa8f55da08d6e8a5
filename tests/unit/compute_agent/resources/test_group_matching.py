# SPDX-License-Identifier: Apache-2.0
"""Mappings of request groups to the providers of a claim."""

import pytest

from compute_agent.resources.group_matching import group_mappings
from compute_agent.resources.kinds.kind import UndecidedMapping
from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import TreeRequest
from tests.support.agent.machines import NODE, node

NIC = "CUSTOM_PCI_8086_154D"
NICS = ("numa0/0000:01:00.0", "numa1/0000:02:00.0")
PATHS = ("numa0", "numa1", *NICS)


def mappings(groups, allocations, policy="none", **values):
    request = TreeRequest([RequestGroup("", {"DISK_GB": 1}), *groups], policy, **values)
    requirements = BuildRequirements(tree_request=request)
    return list(group_mappings(node(), requirements, {NODE: {"DISK_GB": 1}, **allocations}))


def test_swap_of_equal_groups_is_no_further_mapping():
    groups = [RequestGroup("_a", {NIC: 1}), RequestGroup("_b", {NIC: 1})]
    (mapping,) = mappings(groups, {f"{NODE}/{path}": {NIC: 1} for path in NICS})
    assert sorted(mapping.values()) == sorted(NICS)


def test_groups_with_different_relations_match_the_providers_in_every_order():
    groups = [RequestGroup("_a", {NIC: 1}), RequestGroup("_b", {NIC: 1}), RequestGroup("_c", {"PCPU": 1})]
    allocations = {f"{NODE}/{path}": {NIC: 1} for path in NICS} | {f"{NODE}/numa1": {"PCPU": 1}}
    result = mappings(groups, allocations, same_subtree=(("_a",),))
    assert sorted(mapping["_a"] for mapping in result) == sorted(NICS)


def test_amounts_of_the_claim_decide_which_group_is_where():
    groups = [RequestGroup("_a", {NIC: 2}), RequestGroup("_b", {NIC: 1})]
    allocations = {f"{NODE}/{NICS[0]}": {NIC: 1}, f"{NODE}/{NICS[1]}": {NIC: 2}}
    assert mappings(groups, allocations) == [{"_a": NICS[1], "_b": NICS[0]}]


def test_group_of_the_node_itself_has_the_empty_path():
    assert mappings([RequestGroup("_a", {"DISK_GB": 5})], {NODE: {"DISK_GB": 6}}) == [{"_a": ""}]


def test_related_groups_are_matched_in_one_subtree():
    groups = [RequestGroup("_cell", {"PCPU": 1}), RequestGroup("_nic", {NIC: 1})]
    allocations = {f"{NODE}/numa0": {"PCPU": 1}, f"{NODE}/{NICS[1]}": {NIC: 1}}
    assert mappings(groups, allocations) == [{"_cell": "numa0", "_nic": NICS[1]}]
    assert mappings(groups, allocations, same_subtree=(("_cell", "_nic"),)) == []


def test_group_that_another_host_serves_is_left_out():
    groups = [RequestGroup("_a", {NIC: 1}), RequestGroup("_pool", {"SRIOV_NET_VF": 1})]
    allocations = {f"{NODE}/{NICS[0]}": {NIC: 1}, "pool": {"SRIOV_NET_VF": 1}}
    assert mappings(groups, allocations) == [{"_a": NICS[0]}]


def test_claim_with_other_amounts_than_the_request_has_no_mapping():
    assert mappings([RequestGroup("_a", {NIC: 2})], {f"{NODE}/{NICS[0]}": {NIC: 1}}) == []


def test_mapping_may_take_as_many_steps_as_the_claim_took():
    """Given amounts whose mapping takes 7,089 steps, and a scheduler that has 12,000 for an undecided host."""
    amounts = [5 * number**2 % 41 + 20 for number in range(12)]
    groups = [RequestGroup(f"_{number}", {NIC: amount}) for number, amount in enumerate(amounts)]
    allocations = {f"{NODE}/{path}": {NIC: sum(amounts[number::4])} for number, path in enumerate(PATHS)}
    requirements = BuildRequirements(tree_request=TreeRequest(groups, "none"))
    mapping = next(group_mappings(node(), requirements, allocations))
    amounts_by_path = dict.fromkeys(allocations, 0)
    for group in groups:
        amounts_by_path[f"{NODE}/{mapping[group.suffix]}"] += group.resources[NIC]
    assert amounts_by_path == {name: resources[NIC] for name, resources in allocations.items()}


def test_search_that_ends_with_its_steps_is_not_the_end_of_the_mappings():
    """Given even amounts that must add up to two odd ones."""
    amounts = range(20, 60, 2)
    groups = [RequestGroup(f"_{number}", {NIC: amount}) for number, amount in enumerate(amounts)]
    allocations = dict(zip(PATHS, (194, 196, 193, 197), strict=True))
    with pytest.raises(UndecidedMapping, match="the providers of its request groups were not decided within"):
        mappings(groups, {f"{NODE}/{path}": {NIC: amount} for path, amount in allocations.items()})
