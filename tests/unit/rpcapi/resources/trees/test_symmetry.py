# SPDX-License-Identifier: Apache-2.0
"""Providers that are skipped because an equivalent one was tried."""

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.requirements import list_group_requirements
from rpcapi.resources.trees.symmetry import SymmetryBreaker
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest, find_paths

REQUEST = TreeRequest([RequestGroup("1", {"VGPU": 1}, ("CUSTOM_FAST",)), RequestGroup("2", {"VGPU": 1})], "none")


def cell(number, **fields):
    """Return a NUMA cell with one card."""
    defaults = {"inventories": {"VGPU": ProviderInventory(2)}, "traits": frozenset({"CUSTOM_FAST"})}
    return [Provider(f"h/{number}", "h"), Provider(f"h/{number}/gpu", f"h/{number}", **(defaults | fields))]


def breaker(*cells, sharing=()):
    tree = ProviderTree([Provider("h"), *(provider for pair in cells for provider in pair)], sharing)
    return SymmetryBreaker(tree, find_paths(tree), list_group_requirements(tree, REQUEST), REQUEST)


CARDS = (2, 4)  # the numbers of the cards of the first and the second cell


def test_equivalent_unused_providers_are_tried_once():
    assert list(breaker(cell(0), cell(1)).skip_equivalent(CARDS)) == [2]


@pytest.mark.parametrize(
    "difference",
    [
        {"inventories": {"VGPU": ProviderInventory(1)}},
        {"inventories": {"VGPU": ProviderInventory(2, used=1)}},
        {"traits": frozenset()},
        {"traits": None},
        {"symmetry_key": "other"},
    ],
)
def test_providers_that_differ_in_what_matters_are_all_tried(difference):
    assert list(breaker(cell(0), cell(1, **difference)).skip_equivalent(CARDS)) == [2, 4]


@pytest.mark.parametrize(
    "difference",
    [
        {"traits": frozenset({"CUSTOM_FAST", "CUSTOM_OTHER"})},
        {"inventories": {"VGPU": ProviderInventory(2), "FPGA": ProviderInventory(1)}},
    ],
)
def test_difference_that_the_request_does_not_mention_is_ignored(difference):
    assert list(breaker(cell(0), cell(1, **difference)).skip_equivalent(CARDS)) == [2]


def test_used_provider_and_its_ancestors_are_no_longer_equivalent():
    symmetry = breaker(cell(0), cell(1), cell(2))
    symmetry.mark_used(2)
    assert list(symmetry.skip_equivalent((2, 4, 6))) == [2, 4]
    symmetry.unmark_used(2)
    assert list(symmetry.skip_equivalent((2, 4, 6))) == [2]


def test_sharing_providers_are_distinct():
    pools = [Provider(name, None, {"VGPU": ProviderInventory(2)}) for name in ("p", "q")]
    assert list(breaker(cell(0), sharing=pools).skip_equivalent((3, 4))) == [3, 4]


def test_amounts_beyond_the_request_make_no_difference():
    assert list(breaker(cell(0), cell(1, inventories={"VGPU": ProviderInventory(9)})).skip_equivalent(CARDS)) == [2]


def test_leaves_of_one_parent_have_equal_swap_keys():
    symmetry = breaker(cell(0), cell(1))
    symmetry.mark_used(2)
    assert symmetry.swap_key(1) == (1,)
    assert symmetry.swap_key(2) != symmetry.swap_key(4)
    cards = [Provider(f"h/{number}", "h", {"VGPU": ProviderInventory(2)}) for number in range(2)]
    flat = breaker(cards)
    flat.mark_used(1)
    assert flat.swap_key(1) == flat.swap_key(2)
