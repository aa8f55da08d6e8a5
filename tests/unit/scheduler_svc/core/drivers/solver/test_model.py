# SPDX-License-Identifier: Apache-2.0
"""A placement problem as a program, and the program's values as a solution."""

import numpy as np
import pytest

from scheduler_svc.core.drivers.solver.model import MipModel
from scheduler_svc.core.drivers.solver.problem import is_feasible
from tests.support.scheduler.placements import ample_budget, kind, problem, rule, solution

# Kind 0: four calls of one or two instances on two hosts. Kind 1: one call on the second host.
PROBLEM = problem(
    [[4], [3]], kind([1], [4, 3], calls=(0, 1, 3, 4), sizes=(1, 2, 1, 2)), kind([2], [1], calls=(2,), hosts=[1])
)
SOLUTION = solution([[3, 1], [1]], [[True, True, True, False], [True]])


def most_calls(model):
    start = np.zeros(model.program.columns)
    result = model.program.minimise(model.serving_costs(), start, budget=ample_budget(), gap=0.0, seed=1)
    return None if result.values is None else model.solution(result.values, result.optimal)


def test_solution_survives_the_conversion_to_values_and_back():
    model = MipModel(PROBLEM)
    converted = model.solution(model.values(SOLUTION), optimal=True)
    assert [column.tolist() for column in converted.placements] == [[3, 1], [1]]
    assert (converted.served_calls, converted.optimal) == (SOLUTION.served_calls, True)


def test_of_identical_calls_the_first_are_served():
    model = MipModel(PROBLEM)
    last_served = solution([[1, 0], [0]], [[False, False, True, False], [False]])
    assert model.solution(model.values(last_served), optimal=False).served_calls == (
        (True, False, False, False),
        (False,),
    )


def test_nearly_integer_values_are_rounded():
    model = MipModel(PROBLEM)
    for error in (1e-7, -1e-7):
        rounded = model.solution(model.values(SOLUTION) + error, False)
        assert [column.tolist() for column in rounded.placements] == [[3, 1], [1]]


def test_sums_per_host_weigh_the_placements_of_each_kind():
    model = MipModel(PROBLEM)
    values = model.values(SOLUTION)
    assert model.sums(values, [1.0, 10.0]).tolist() == [3, 11]
    assert model.sums(values, [1.0, 10.0], kinds=[1]).tolist() == [0, 10]


def test_minimal_serving_cost_serves_the_most_calls_within_the_capacity():
    # 7 units in all: the calls of kind 0 need 6 and that of kind 1 needs 2, so one call of two instances is left out.
    best = most_calls(MipModel(PROBLEM))
    assert best.calls == 4
    assert is_feasible(PROBLEM, best)


@pytest.mark.parametrize(("max_members", "calls"), [(1, 1), (2, 3)])
def test_hard_group_rule_limits_the_members_of_each_host(max_members, calls):
    grouped = problem(
        [[9], [9]],
        kind([1], [9, 9], calls=(0, 1)),
        kind([1], [9, 9], calls=(2, 3)),
        rules=[rule([0, 1], [1, 0], max_members)],
    )
    best = most_calls(MipModel(grouped))
    assert best.calls == calls
    assert is_feasible(grouped, best)


def test_group_that_already_exceeds_its_limit_takes_no_more_members_there():
    grouped = problem([[9]], kind([1], [9]), rules=[rule([0], [5], 2)])
    assert most_calls(MipModel(grouped)).calls == 0


def test_required_number_of_calls_bounds_the_solutions():
    for required, has_solution in ((4, True), (5, False)):
        model = MipModel(PROBLEM)
        model.serve_at_least(required)
        assert (most_calls(model) is not None) is has_solution


def test_large_amounts_are_compared_exactly():
    gib = 1024**3
    full = problem([[4 * gib]], kind([gib], [9], calls=(0, 1, 2, 3)))
    assert most_calls(MipModel(full)).calls == 4
    short_of_one = problem([[4 * gib - gib // 1024]], kind([gib], [9], calls=(0, 1, 2, 3)))
    assert most_calls(MipModel(short_of_one)).calls == 3
