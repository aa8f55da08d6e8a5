# SPDX-License-Identifier: Apache-2.0
"""Greedy placement, call by call."""

import pytest

from scheduler_svc.core.drivers.solver import greedy
from tests.support.scheduler.placements import kind, problem, rule


def placements(solution):
    return [column.tolist() for column in solution.placements]


@pytest.mark.parametrize(("packs", "expected"), [(False, [1, 1]), (True, [2, 0])])
def test_placement_makes_a_host_worse_when_spreading_and_better_when_packing(packs, expected):
    # The first host is better by 0.5, and a placement changes a cost by 1.
    solution = greedy.place(problem([[4], [4]], kind([2], [2, 2], calls=(0, 1), cost=[0.0, 0.5])), packs)
    assert placements(solution) == [expected]
    assert solution.served_calls == ((True, True),)


def test_calls_are_served_in_their_order_across_kinds():
    # Call 0 takes the only host; call 1 comes second although its kind is the first.
    solution = greedy.place(problem([[3]], kind([2], [1], calls=(1,)), kind([3], [1], calls=(0,))), False)
    assert solution.served_calls == ((False,), (True,))
    assert placements(solution) == [[0], [1]]


def test_call_that_does_not_fit_fully_leaves_its_capacity_to_others():
    solution = greedy.place(problem([[5]], kind([2], [2], calls=(0, 1), sizes=(3, 2))), False)
    assert solution.served_calls == ((False, True),)
    assert placements(solution) == [[2]]


def test_no_host_takes_more_than_its_limit():
    solution = greedy.place(problem([[9], [9]], kind([1], [1, 1], calls=(0, 1, 2))), True)
    assert solution.served_calls == ((True, True, False),)
    assert placements(solution) == [[1, 1]]


def test_hard_group_rule_counts_members_of_all_its_kinds():
    grouped = problem(
        [[9], [9]],
        kind([1], [9, 9], calls=(0,)),
        kind([1], [9, 9], calls=(1,)),
        kind([1], [9, 9], calls=(2,)),
        rules=[rule([0, 1], [1, 0], 1)],
    )
    solution = greedy.place(grouped, True)
    # The group has a member on the first host already, so it takes one more on the second; kind 2 is not in the group.
    assert solution.served_calls == ((True,), (False,), (True,))
    assert placements(solution)[:2] == [[0, 1], [0, 0]]


def test_problem_is_not_changed():
    placement_problem = problem([[4]], kind([2], [2], calls=(0, 1)), rules=[rule([0], [1], 3)])
    greedy.place(placement_problem, False)
    assert placement_problem.free.tolist() == [[4]]
    assert placement_problem.rules[0].member_counts.tolist() == [1]
