# SPDX-License-Identifier: Apache-2.0
"""Selections: names by index, alternates and allocations."""

from rpcapi import objects


def test_selections_have_each_host_name_once():
    selections = objects.Selections.build(
        ["a", "b", "a"], [["b"], ["a", "c"], []], partition="p", attempt=1, deadline_ms=1, epoch=1, position=1
    )
    assert selections.names == ["a", "b", "c"]
    assert [selections.host(index) for index in range(3)] == ["a", "b", "a"]
    assert [selections.alternates_of(index) for index in range(3)] == [["b"], ["a", "c"], []]


def selections(**values):
    fields = {"partition": "p", "attempt": 1, "deadline_ms": 1, "epoch": 1, "position": 1}
    return objects.Selections.build(["a", "b"], [[], []], **fields, **values)


def test_allocation_is_none_when_no_instance_has_its_own():
    assert selections().allocations_of(1) is None
    allocation = {"b/gpu": {"VGPU": 1}}
    assert [selections(allocations=[None, allocation]).allocations_of(index) for index in (0, 1)] == [None, allocation]
