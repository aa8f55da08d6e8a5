# SPDX-License-Identifier: Apache-2.0
"""Inventories of providers, and the rules for traits and aggregates."""

import pytest

from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, has_traits, in_aggregates


@pytest.mark.parametrize(
    ("used", "largest", "allowed"), [(0, 6, [2, 4, 6]), (11, 5, [2, 4]), (15, 1, []), (20, -4, [])]
)
def test_allocation_is_limited_by_capacity_and_units(used, largest, allowed):
    inventory = ProviderInventory(16, used, min_unit=2, max_unit=6, step_size=2)
    assert inventory.max_allocation == largest
    assert [amount for amount in range(1, 20) if inventory.can_allocate(amount)] == allowed


@pytest.mark.parametrize(
    ("traits", "required", "any_of", "forbidden", "expected"),
    [
        ({"A", "B"}, ["A"], [["B", "C"]], ["D"], True),
        ({"A"}, ["A", "B"], [], [], False),
        ({"A"}, [], [["B", "C"]], [], False),
        ({"A"}, [], [["A"], ["B"]], [], False),
        ({"A"}, [], [], ["A"], False),
        (set(), [], [], [], True),
        (None, ["A"], [["B"]], ["C"], True),
    ],
)
def test_traits_must_satisfy_all_lists(traits, required, any_of, forbidden, expected):
    provider_traits = None if traits is None else frozenset(traits)
    assert has_traits(provider_traits, required, any_of, forbidden) is expected


@pytest.mark.parametrize(
    ("member_of", "expected"), [([], True), ([["a", "x"]], True), ([["a"], ["b"]], True), ([["a"], ["x"]], False)]
)
def test_one_aggregate_of_each_list_is_required(member_of, expected):
    assert in_aggregates(frozenset({"a", "b"}), member_of) is expected


def test_root_is_the_first_provider():
    assert ProviderTree([Provider("h"), Provider("h/n", "h")]).root.id == "h"
