# SPDX-License-Identifier: Apache-2.0
"""Requested and forbidden aggregates, and the requested tree."""

import pytest

from tests.support.scheduler.hosts import child_provider, node
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, passing_hosts

NODES = {
    "a": node(),
    "a/gpu": child_provider("a", "a", {"VGPU": 4}),
    "b": node(),
    "c": node(),
}
AGGREGATES = [aggregate("a", "b"), aggregate("b"), aggregate("a/gpu")]  # a0, a1, a2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"member_of": (("a0",),)}, ["a", "b"]),
        ({"member_of": (("a0",), ("a1", "a9"))}, ["b"]),
        ({"member_of": (("a2",),)}, ["a"]),
        ({"member_of": (("a9",),)}, []),
        ({"forbidden_aggregates": ("a1",)}, ["a", "c"]),
        ({"forbidden_aggregates": ("a2", "a9")}, ["a", "b", "c"]),
        ({"in_tree": "b"}, ["b"]),
        ({"in_tree": "a/gpu"}, ["a"]),
        ({"in_tree": "nowhere"}, []),
    ],
)
def test_requested_aggregates_and_tree(fields, expected):
    assert passing_hosts("MembershipFilter", NODES, AGGREGATES, **fields) == expected
