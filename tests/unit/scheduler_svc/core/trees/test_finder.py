# SPDX-License-Identifier: Apache-2.0
"""Allocations of one more instance on a host."""

import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.search import NoCandidateReason
from scheduler_svc.core.trees import finder
from scheduler_svc.core.trees.finder import AllocationFinder
from tests.support.scheduler.hosts import child_provider, node, request, table

GPU = "CUSTOM_GPU"
NODES = {
    "a": node({"VCPU": 8}),
    **{f"a/gpu{number}": child_provider("a", "a", {GPU: 1}) for number in range(2)},
    "b": node({"VCPU": 8}),
    "cells": node({"DISK_GB": 9}),
    **{f"cells/{number}": child_provider("cells", "cells", {"VCPU": 2}) for number in range(2)},
}
GPU_REQUEST = request({"VCPU": 1}, groups=(RequestGroup("_g", {GPU: 1}),))
FIRST = {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}}
SECOND = {"a": {"VCPU": 1}, "a/gpu1": {GPU: 1}}


@pytest.fixture
def view():
    with table(NODES).reading() as view:
        yield view


def test_trees_are_searched_for_groups_and_on_nested_hosts(view):
    assert AllocationFinder(view, GPU_REQUEST).is_needed
    assert AllocationFinder(view, request({"VCPU": 1})).is_needed
    with table({"b": node()}).reading() as flat_view:
        assert not AllocationFinder(flat_view, request({"VCPU": 1})).is_needed
        assert AllocationFinder(flat_view, GPU_REQUEST).is_needed


def test_bare_host_and_sufficient_root_take_all_resources_from_the_root(view):
    allocations = AllocationFinder(view, request({"VCPU": 1}))
    for name in ("b", "a"):
        assert allocations.find(view.row(name)) is None


def test_root_that_does_not_suffice_is_searched_below(view):
    allocations = AllocationFinder(view, request({"VCPU": 2}))
    row = view.row("cells")
    assert allocations.find(row) == {"cells/0": {"VCPU": 2}}
    assert AllocationFinder(view, request({"VCPU": 3})).find(row) is NoCandidateReason.NONE


def test_reserved_providers_are_not_found_again(view):
    allocations = AllocationFinder(view, GPU_REQUEST)
    row = view.row("a")
    assert [allocations.reserve(row) for _ in range(2)] == [FIRST, SECOND]
    assert allocations.find(row) is NoCandidateReason.NONE
    with pytest.raises(ValueError, match="a has no allocation for this request"):
        allocations.reserve(row)


def test_reset_drops_the_reservations(view):
    allocations = AllocationFinder(view, GPU_REQUEST)
    row = view.row("a")
    for _ in range(2):
        allocations.reserve(row)
    assert allocations.find(row) is NoCandidateReason.NONE
    allocations.reset()
    assert allocations.find(row) == FIRST


def test_finding_reserves_nothing(view):
    allocations = AllocationFinder(view, GPU_REQUEST)
    assert allocations.find(view.row("a")) == allocations.find(view.row("a")) == FIRST


def test_released_allocations_count_as_free():
    with table(NODES, {"a/gpu0": {GPU: 1}, "a/gpu1": {GPU: 1}}).reading() as view:
        row = view.row("a")
        assert AllocationFinder(view, GPU_REQUEST).find(row) is NoCandidateReason.NONE
        allocations = AllocationFinder(view, GPU_REQUEST)
        allocations.assume_released({"a/gpu1": {GPU: 1}})
        assert allocations.find(row) == SECOND


def test_hosts_stay_undecided_when_the_reserved_steps_are_used_up(view, monkeypatch):
    monkeypatch.setattr(finder, "RESERVED_STEPS", 1)
    allocations = AllocationFinder(view, GPU_REQUEST)
    assert not allocations.is_exhausted
    assert allocations.find(view.row("a")) == FIRST
    assert allocations.is_exhausted
    assert allocations.find(view.row("b")) is NoCandidateReason.UNDECIDED


@pytest.mark.parametrize(("count", "exhausted"), [(0, True), (1, True), (100, True), (101, False)])
def test_search_steps_grow_with_the_hundreds_of_instances(view, monkeypatch, count, exhausted):
    monkeypatch.setattr(finder, "RESERVED_STEPS", finder.TREE_READ_STEPS)
    allocations = AllocationFinder(view, GPU_REQUEST, count)
    assert allocations.find(view.row("a")) == FIRST
    assert allocations.is_exhausted == exhausted


def test_first_steps_of_a_search_do_not_depend_on_earlier_ones(view, monkeypatch):
    monkeypatch.setattr(finder, "COMMON_STEPS", 0)
    monkeypatch.setattr(finder, "FIRST_STEPS", 2)
    assert AllocationFinder(view, GPU_REQUEST).find(view.row("a")) == FIRST
    monkeypatch.setattr(finder, "FIRST_STEPS", 1)
    assert AllocationFinder(view, GPU_REQUEST).find(view.row("a")) is NoCandidateReason.UNDECIDED


@pytest.mark.parametrize(("factor", "allocation"), [(1, NoCandidateReason.UNDECIDED), (2, FIRST)])
def test_factor_multiplies_the_steps(view, monkeypatch, factor, allocation):
    monkeypatch.setattr(finder, "MAX_STEPS", 1)
    assert AllocationFinder(view, GPU_REQUEST, factor=factor).find(view.row("a")) == allocation
