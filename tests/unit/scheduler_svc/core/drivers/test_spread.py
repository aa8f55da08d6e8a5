# SPDX-License-Identifier: Apache-2.0
"""Identical instances over the best hosts, one by one, and the number that each host takes."""

import numpy as np
import pytest

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import LARGE_REQUEST, MAX_CANDIDATES, MAX_CANDIDATES_LARGE
from scheduler_svc.core.drivers.random_choice import SeededRandom
from scheduler_svc.core.drivers.spread import instance_capacity, separate_alternates, spread
from scheduler_svc.core.records import ClaimGroup
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

NODES = {"a": node({"VCPU": 8, "MEMORY_MB": 4096}), "b": node({"VCPU": 3, "MEMORY_MB": 9000}), "c": node({"VCPU": 8})}
RESOURCES = {"VCPU": 2, "MEMORY_MB": 1000}


def capacities(scheduling_request, limits=None):
    with hosts.table(NODES, used={"a": {"VCPU": 1}}).reading() as view:
        limited_view = view if limits is None else view.with_instance_limits(limits)
        return instance_capacity(limited_view, scheduling_request, np.arange(view.size)).tolist()


def test_capacity_is_limited_by_the_scarcest_class():
    # a: 7 of 8 processors and 4096 MB are free; b: 3 processors; c has no memory, but the filters decide that
    assert capacities(request(RESOURCES)) == [3, 1, 1]


def test_anti_affinity_limits_the_capacity():
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 2)
    assert capacities(request({"VCPU": 1}, group=group)) == [2, 2, 2]
    soft_group = ClaimGroup("g", GroupPolicy.SOFT_ANTI_AFFINITY, 2)
    assert capacities(request({"VCPU": 1}, group=soft_group)) == [7, 3, 8]


@pytest.mark.parametrize(
    ("limits", "expected"), [({0: 2}, [2, 3, 8]), ({0: 9}, [7, 3, 8]), ({1: 0}, [7, 3, 8]), ({2: 1}, [7, 3, 1])]
)
def test_known_limits_of_trees_reduce_the_capacity(limits, expected):
    # A limit of 0 excludes the row from the view; it never gets here.
    assert capacities(request({"VCPU": 1}), limits) == expected


def test_spread_returns_nothing_if_not_all_instances_fit():
    none, _ = spread([1.0, 0.5], [1, 1], steps=[-1.0, -1.0], count=3, subset=1, random=SeededRandom(1))
    assert none == []
    choices, _ = spread([1.0, 0.5], [2, 1], steps=[-0.4, -0.4], count=3, subset=1, random=SeededRandom(1))
    assert choices == [[0, 1], [0, 1], [1]]


def test_instance_goes_to_the_best_host_after_the_instances_before_it():
    choices, _ = spread([1.0, 0.9, 0.1], [9, 9, 9], steps=[-0.4] * 3, count=4, subset=1, random=SeededRandom(1))
    # Scores before each choice: 1.0 0.9 0.1 | 0.6 0.9 0.1 | 0.6 0.5 0.1 | 0.2 0.5 0.1
    assert [order[0] for order in choices] == [0, 1, 0, 1]
    assert choices[1] == [1, 0, 2]


def test_host_subset_draws_among_the_best_hosts_only():
    firsts = {
        spread([1.0, 0.9, 0.1], [1, 1, 1], steps=[0.0] * 3, count=1, subset=2, random=SeededRandom(seed))[0][0][0]
        for seed in range(30)
    }
    assert firsts == {0, 1}


def test_near_hosts_are_no_worse_than_the_first_with_one_more_instance():
    _, nears = spread(
        [1.0, 0.9, 0.6, 0.5], [9] * 4, steps=[-0.4] * 4, count=3, subset=1, random=SeededRandom(1), draws_near=True
    )
    # Scores before each choice: 1.0 0.9 0.6 0.5 | 0.6 0.9 0.6 0.5 | 0.6 0.5 0.6 0.5
    assert nears == [3, 4, 4]


def test_each_instance_draws_its_own_where_more_hosts_are_near_than_fit():
    def lists(seed):
        return spread(
            [1.0] * 90, [9] * 90, steps=[-0.1] * 90, count=3, subset=1, random=SeededRandom(seed), draws_near=True
        )

    choices, nears = lists(1)
    assert nears == [MAX_CANDIDATES] * 3
    assert [order[0] for order in choices] == [0, 1, 2]
    assert all(order[1:] == sorted(set(order[1:])) and len(order) == MAX_CANDIDATES for order in choices)
    assert len({tuple(order[1:]) for order in choices}) == 3
    assert max(index for order in choices for index in order) > MAX_CANDIDATES
    assert lists(1) == (choices, nears)
    assert lists(2)[0] != choices


def test_instance_of_a_large_request_has_fewer_alternates():
    count = LARGE_REQUEST + 1
    choices, _ = spread([1.0] * 30, [9] * 30, steps=[-0.1] * 30, count=count, subset=1, random=SeededRandom(1))
    assert {len(order) for order in choices} == {MAX_CANDIDATES_LARGE}
    assert all(len(set(order)) == len(order) for order in choices)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([0, 1, 2, 3, 4], [[0, 2, 3, 4, 1], [1, 3, 4, 2]]),
        ([0, 1, 4], [[0, 4, 1, 2], [1, 4, 2]]),
        ([0, 1], [[0, 1, 2], [1, 2]]),
        ([], [[0, 1, 2], [1, 2]]),
    ],
)
def test_alternates_begin_with_hosts_that_no_sibling_got(others, expected):
    assert separate_alternates([[0, 1, 2], [1, 2]], others) == expected


def test_separate_alternates_are_as_many_as_others():
    count = LARGE_REQUEST + 1
    choices = separate_alternates([[index] for index in range(count)], range(2 * count))
    assert {len(order) for order in choices} == {MAX_CANDIDATES_LARGE}
    assert sorted(order[1] for order in choices) == list(range(count, 2 * count))
