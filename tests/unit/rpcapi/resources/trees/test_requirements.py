# SPDX-License-Identifier: Apache-2.0
"""Requirements of a request, and the providers that can serve them."""

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.requirements import list_group_requirements, provider_satisfies, root_satisfies
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest

GPU = {"VGPU": ProviderInventory(2)}
ROOT = Provider("h", None, {"VCPU": ProviderInventory(8)}, frozenset({"CUSTOM_ROOT"}), frozenset({"rack1"}))
CARD0 = Provider("h/gpu0", "h", GPU, frozenset({"CUSTOM_FAST"}))
CARD1 = Provider("h/gpu1", "h", GPU, frozenset(), frozenset({"gold"}))
POOL = Provider("pool", None, {"DISK_GB": ProviderInventory(100)}, aggregates=frozenset({"rack1"}))
TREE = ProviderTree([ROOT, CARD0, CARD1], [POOL])


def options_of(group, **fields):
    """Return the names of the providers of each requirement of one group."""
    providers = [*TREE.providers, *TREE.sharing]
    requirements = list_group_requirements(TREE, TreeRequest([group], **fields))
    return [[providers[option].id for option in requirement.options] for requirement in requirements]


@pytest.mark.parametrize(
    ("fields", "providers"),
    [
        ({}, ["h/gpu0", "h/gpu1"]),
        ({"required": ("CUSTOM_FAST",)}, ["h/gpu0"]),
        ({"forbidden": ("CUSTOM_FAST",)}, ["h/gpu1"]),
        ({"member_of": (("gold",),)}, ["h/gpu1"]),
        ({"forbidden_aggregates": ("gold",)}, ["h/gpu0"]),
        ({"in_tree": "h"}, ["h/gpu0", "h/gpu1"]),
        ({"in_tree": "other"}, []),
    ],
)
def test_suffixed_group_is_served_by_providers_that_satisfy_it_alone(fields, providers):
    assert options_of(RequestGroup("1", {"VGPU": 1}, **fields)) == [providers]


def test_sharing_provider_below_a_root_is_in_the_tree_of_that_root():
    tree = ProviderTree(
        [Provider("h")], [Provider("store/disk", None, {"DISK_GB": ProviderInventory(9)}, root="store")]
    )
    for in_tree, options in (("store", (1,)), ("h", ())):
        request = TreeRequest([RequestGroup("1", {"DISK_GB": 5}, in_tree=in_tree)])
        assert list_group_requirements(tree, request)[0].options == options


def test_unsuffixed_group_has_a_requirement_for_each_class():
    assert options_of(RequestGroup("", {"DISK_GB": 5, "VGPU": 1})) == [["pool"], ["h/gpu0", "h/gpu1"]]


@pytest.mark.parametrize(
    ("fields", "providers"),
    [
        ({"in_tree": "h"}, []),
        ({"member_of": (("rack1",),)}, ["pool"]),
        ({"member_of": (("gold",),)}, []),
        ({"forbidden_aggregates": ("rack1",)}, []),
    ],
)
def test_sharing_provider_serves_unsuffixed_groups_of_its_aggregates(fields, providers):
    assert options_of(RequestGroup("", {"DISK_GB": 5}, **fields)) == [providers]


def test_aggregate_of_the_root_applies_to_its_tree():
    assert options_of(RequestGroup("", {"VGPU": 1}, member_of=(("rack1",),))) == [["h/gpu0", "h/gpu1"]]
    assert options_of(RequestGroup("1", {"VGPU": 1}, member_of=(("rack1",),))) == [[]]
    assert options_of(RequestGroup("", {"VGPU": 1}, forbidden_aggregates=("rack1",))) == [[]]


def test_requirement_with_the_fewest_options_is_first_and_equal_ones_are_adjacent():
    groups = [
        RequestGroup("a", {"VGPU": 1}),
        RequestGroup("b", {"VGPU": 1}, ("CUSTOM_FAST",)),
        RequestGroup("c", {"VGPU": 1}),
    ]
    requirements = list_group_requirements(TREE, TreeRequest(groups, "none"))
    assert [requirement.suffix for requirement in requirements] == ["b", "a", "c"]
    assert requirements[1].kind == requirements[2].kind != requirements[0].kind
    assert [requirement.mask for requirement in requirements] == [0b10, 0b110, 0b110]


def test_groups_of_different_subtree_rules_are_not_interchangeable():
    groups = [RequestGroup("a", {"VGPU": 1}), RequestGroup("b", {"VGPU": 1})]
    requirements = list_group_requirements(TREE, TreeRequest(groups, "none", same_subtree=(("a",),)))
    assert {requirement.suffix: requirement.subtree_rules for requirement in requirements} == {"a": {0}, "b": set()}
    assert requirements[0].kind != requirements[1].kind


@pytest.mark.parametrize(
    ("request_fields", "expected"),
    [
        ({"root_required": ("CUSTOM_ROOT",)}, True),
        ({"root_required": ("CUSTOM_FAST",)}, False),
        ({"root_forbidden": ("CUSTOM_ROOT",)}, False),
        ({"groups": [RequestGroup("", required=("CUSTOM_ROOT",))]}, True),
        ({"groups": [RequestGroup("", required=("CUSTOM_FAST",))]}, False),
        ({"groups": [RequestGroup("", member_of=(("gold",),))]}, False),
        ({"groups": [RequestGroup("", in_tree="other")]}, False),
    ],
)
def test_root_must_satisfy_root_traits_and_a_group_without_amounts(request_fields, expected):
    assert root_satisfies(TREE, TreeRequest(**({"groups": []} | request_fields))) is expected


@pytest.mark.parametrize(("amount", "expected"), [(2, True), (3, False)])
def test_provider_must_have_the_amounts_free(amount, expected):
    assert provider_satisfies(CARD0, RequestGroup("1", {"VGPU": amount})) is expected
