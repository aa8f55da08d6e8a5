# SPDX-License-Identifier: Apache-2.0
"""Request groups that need a provider of their own."""

import pytest

from rpcapi.resources.groups import ISOLATE, RequestGroup
from tests.support.scheduler.hosts import child_provider, node
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_table, passing_hosts, run_filter

NODES = {
    "tree": node(),
    "tree/gpu0": child_provider("tree", "tree", {"VGPU": 2}, ["CUSTOM_FAST"]),
    "tree/gpu1": child_provider("tree", "tree", {"VGPU": 2}),
    "flat": node({"VGPU": 4}),
    "none": node(),
}
AGGREGATES = [aggregate("tree/gpu0")]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ({}, ["tree", "flat"]),
        ({"resources": {"VGPU": 3}}, ["flat"]),
        ({"required": ("CUSTOM_FAST",)}, ["tree"]),
        ({"required": ("CUSTOM_FAST",), "forbidden": ("CUSTOM_FAST",)}, []),
        ({"any_of": (("CUSTOM_FAST", "CUSTOM_NEW"),)}, ["tree"]),
        ({"forbidden": ("CUSTOM_FAST",)}, ["tree", "flat"]),
        ({"member_of": (("a0",),)}, ["tree"]),
        ({"forbidden_aggregates": ("a0",)}, ["tree", "flat"]),
        ({"in_tree": "tree/gpu1"}, ["tree"]),
    ],
)
def test_one_provider_must_serve_the_group(group, expected):
    groups = (RequestGroup(**{"suffix": "_1", "resources": {"VGPU": 1}, **group}),)
    assert passing_hosts("RequestGroupsFilter", NODES, AGGREGATES, groups=groups) == expected


@pytest.mark.parametrize(
    ("count", "policy", "expected"),
    [(2, None, ["tree", "flat"]), (4, None, ["tree", "flat"]), (5, None, []), (2, ISOLATE, ["tree"]), (3, ISOLATE, [])],
)
def test_equal_groups_are_counted_together(count, policy, expected):
    groups = tuple(RequestGroup(f"_{number}", {"VGPU": 1}) for number in range(count))
    assert passing_hosts("RequestGroupsFilter", NODES, groups=groups, groups_policy=policy) == expected


def test_reasons_name_the_group_and_the_class():
    table = make_table("RequestGroupsFilter", NODES)
    groups = (RequestGroup("_1", {"VGPU": 3}),)
    reasons = {"no provider for group _1": 2}
    assert run_filter("RequestGroupsFilter", table, resources={}, groups=groups) == (["flat"], reasons)
    forbidden = {"resources": {"VGPU": 2}, "forbidden_traits": ("CUSTOM_FAST",)}
    assert run_filter("RequestGroupsFilter", table, **forbidden) == (
        ["tree", "flat"],
        {"no usable provider of VGPU": 1},
    )
