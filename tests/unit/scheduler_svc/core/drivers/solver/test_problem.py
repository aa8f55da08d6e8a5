# SPDX-License-Identifier: Apache-2.0
"""The integer problem of a batch: its size, and whether a solution is valid."""

import pytest

from scheduler_svc.core.drivers.solver.problem import count_members, is_feasible
from tests.support.scheduler.placements import kind, problem, rule, solution

# Two kinds on two hosts: single instances of 2 processors, and a call of two instances of 1 processor and 3 GB.
PROBLEM = problem([[4, 6], [4, 6]], kind([2, 0], [2, 2], calls=(0, 2)), kind([1, 3], [2, 2], calls=(1,), sizes=(2,)))


def test_size_counts_pairs_and_calls():
    assert (PROBLEM.columns, PROBLEM.calls) == (4, 3)


def test_hosts_with_any_usage_are_not_empty():
    assert problem([[4, 6], [4, 5], [0, 0]], capacity=[[4, 6], [4, 6], [0, 0]]).empty.tolist() == [True, False, True]


def test_solution_counts_its_served_calls():
    assert solution([[1, 0], [0, 2]], [[True, False], [True]]).calls == 2


@pytest.mark.parametrize(
    ("placements", "served", "feasible"),
    [
        ([[1, 1], [2, 0]], [[True, True], [True]], True),
        ([[0, 0], [0, 0]], [[False, False], [False]], True),
        ([[2, 0], [2, 0]], [[True, True], [True]], False),  # 6 of 4 processors of the first host
        ([[1, 0], [1, 1]], [[True, True], [True]], False),  # two calls are served with one placement
        ([[1, 1], [1, 0]], [[True, True], [True]], False),  # half of a call
        ([[1, 1], [0, 0]], [[True, True], [True]], False),  # a served call without placements
        ([[1, 1], [1, 1]], [[True, True], [False]], False),  # placements of a call that is not served
        ([[2, -1], [0, 0]], [[True, False], [False]], False),
    ],
)
def test_feasible_solution_serves_calls_fully_within_the_capacity(placements, served, feasible):
    assert is_feasible(PROBLEM, solution(placements, served)) is feasible


def test_feasible_solution_respects_the_limit_of_each_host():
    limited = problem([[9], [9]], kind([1], [1, 9], calls=(0, 1)))
    assert is_feasible(limited, solution([[1, 1]], [[True, True]]))
    assert not is_feasible(limited, solution([[2, 0]], [[True, True]]))


@pytest.mark.parametrize(
    ("max_members", "placements", "feasible"),
    [(1, [0, 1], True), (1, [1, 0], False), (2, [1, 0], True), (2, [0, 3], False)],
)
def test_feasible_solution_respects_hard_group_rules(max_members, placements, feasible):
    calls = tuple(range(sum(placements)))
    grouped = problem([[9], [9]], kind([1], [9, 9], calls=calls), rules=[rule([0], [1, 0], max_members)])
    assert is_feasible(grouped, solution([placements], [[True] * len(calls)])) is feasible


def test_full_group_on_a_host_without_new_members_is_no_violation():
    grouped = problem([[9], [9]], kind([1], [9, 9]), rules=[rule([0], [3, 0], 1)])
    assert is_feasible(grouped, solution([[0, 1]], [[True]]))


def test_soft_group_rules_do_not_limit_solutions():
    grouped = problem([[9]], kind([1], [9], calls=(0, 1)), rules=[rule([0], [5], None)])
    assert is_feasible(grouped, solution([[2]], [[True, True]]))


def test_members_are_counted_over_the_kinds_of_the_rule():
    three = problem([[9], [9]], kind([1], [9, 9]), kind([1], [9], hosts=[1]), kind([1], [9, 9]))
    assert count_members(three, solution([[1, 2], [4], [7, 7]], []), rule([0, 1], [5, 5])).tolist() == [1, 6]
