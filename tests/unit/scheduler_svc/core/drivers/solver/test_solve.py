# SPDX-License-Identifier: Apache-2.0
"""Solving within a budget; tests/property/test_solver.py compares solutions with an exhaustive search."""

import time

import numpy as np
import pytest

from scheduler_svc.core.drivers.solver.mip import Budget, StopReason
from scheduler_svc.core.drivers.solver.problem import is_feasible
from scheduler_svc.core.drivers.solver.solve import solve
from tests.support.scheduler.placements import AMPLE_WORK, ample_budget, kind, problem

# The first call takes most of the only host, and keeps the two others out.
GREEDY_MISTAKE = problem([[4]], kind([3], [1], calls=(0,)), kind([2], [2], calls=(1, 2)))


def placements(result):
    return [column.tolist() for column in result.solution.placements]


def test_solution_serves_more_calls_than_greedy_placement():
    result = solve(GREEDY_MISTAKE, packs=True, budget=ample_budget(), seed=1)
    assert (result.solution.calls, result.greedy_calls) == (2, 1)
    assert (result.solution.optimal, result.is_greedy, result.stop_reason) == (True, False, None)
    assert result.solution.served_calls == ((False,), (True, True))


def test_greedy_placement_is_the_answer_when_there_is_no_time():
    result = solve(GREEDY_MISTAKE, packs=True, budget=ample_budget(0.0), seed=1)
    assert result.solution.served_calls == ((True,), (False, False))
    assert (result.solution.optimal, result.is_greedy, result.stop_reason) == (False, True, StopReason.TIME)


def test_greedy_placement_of_all_calls_is_known_to_serve_the_most():
    result = solve(problem([[4]], kind([2], [2], calls=(0, 1))), packs=True, budget=ample_budget(0.0), seed=1)
    assert result.solution.optimal


def test_packing_moves_calls_together_that_greedy_placement_spread_over_hosts():
    # Call 0 prefers host 0, where call 1 has no capacity left: both fit on host 1, which spares a host.
    together = problem(
        [[3], [5]], kind([2], [1, 2], calls=(0,), cost=[0.0, 1.0]), kind([3], [1], calls=(1,), hosts=[1])
    )
    assert placements(solve(together, packs=True, budget=ample_budget(0.0), seed=1)) == [[1, 0], [1]]
    assert placements(solve(together, packs=True, budget=ample_budget(), seed=1)) == [[0, 1], [1]]


def test_problem_without_hosts_serves_nothing():
    result = solve(problem([[4]], kind([9], [], calls=(0,), hosts=[])), packs=False, budget=ample_budget(), seed=1)
    assert (result.solution.calls, result.solution.optimal) == (0, True)


def knapsack(hosts, kinds, calls):
    """Return a problem of unlike calls on unlike hosts, which takes many steps to solve."""
    chance = np.random.default_rng(1)
    free = (chance.choice([[32, 128], [48, 192], [64, 256]], hosts) * chance.uniform(0.2, 0.8, (hosts, 1))).astype(int)
    parts = []
    for number in range(kinds):
        amounts = np.array([chance.integers(1, 16), chance.integers(1, 64)])
        parts.append(
            kind(
                amounts.tolist(),
                (free // amounts).min(axis=1).tolist(),
                calls=range(number * calls, (number + 1) * calls),
                sizes=chance.integers(1, 4, calls).tolist(),
                cost=chance.uniform(0, 1, hosts).tolist(),
                weight=0.1,
            )
        )
    return problem(free.tolist(), *parts)


class SlowBudget(Budget):
    """A budget whose searches take long."""

    def take_step(self, columns):
        time.sleep(0.01)
        return super().take_step(columns)


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("work", [300, 3_000])
def test_limit_of_work_ends_the_search_at_the_same_solution_on_a_slower_machine(packs, work):
    overfull = knapsack(hosts=20, kinds=5, calls=8)
    quick, slow = (solve(overfull, packs=packs, budget=create(work, 60.0), seed=1) for create in (Budget, SlowBudget))
    assert quick.stop_reason is slow.stop_reason is StopReason.WORK
    assert placements(quick) == placements(slow)
    assert quick.solution.served_calls == slow.solution.served_calls
    assert is_feasible(overfull, quick.solution)


def test_more_work_never_serves_fewer_calls():
    overfull = knapsack(hosts=20, kinds=5, calls=8)
    budgets = [Budget(work, 60.0) for work in (0, 300, 3_000, 30_000)]
    calls = [solve(overfull, packs=False, budget=budget, seed=1).solution.calls for budget in budgets]
    assert calls == sorted(calls)
    assert calls[0] < calls[-1]


def test_time_limit_guards_a_search_with_work_left():
    budget = SlowBudget(AMPLE_WORK, 0.05)
    result = solve(knapsack(hosts=20, kinds=5, calls=8), packs=False, budget=budget, seed=1)
    assert result.stop_reason is StopReason.TIME
