# SPDX-License-Identifier: Apache-2.0
"""Solving within a time limit; tests/property/test_solver.py compares solutions with an exhaustive search."""

from scheduler_svc.core.drivers.solver.solve import solve
from tests.unit.scheduler_svc.core.drivers.solver.placements import kind, problem

LONG_S = 20.0
# The first call takes most of the only host, and keeps the two others out.
GREEDY_MISTAKE = problem([[4]], kind([3], [1], calls=(0,)), kind([2], [2], calls=(1, 2)))


def placements(result):
    return [column.tolist() for column in result.solution.placements]


def test_solution_serves_more_calls_than_greedy_placement():
    result = solve(GREEDY_MISTAKE, packs=True, limit_s=LONG_S, seed=1)
    assert (result.solution.calls, result.greedy_calls) == (2, 1)
    assert (result.solution.optimal, result.is_late) == (True, False)
    assert result.solution.served_calls == ((False,), (True, True))


def test_greedy_placement_is_the_answer_when_there_is_no_time():
    result = solve(GREEDY_MISTAKE, packs=True, limit_s=0.0, seed=1)
    assert result.solution.served_calls == ((True,), (False, False))
    assert (result.solution.optimal, result.is_late) == (False, True)


def test_greedy_placement_of_all_calls_is_known_to_serve_the_most():
    result = solve(problem([[4]], kind([2], [2], calls=(0, 1))), packs=True, limit_s=0.0, seed=1)
    assert result.solution.optimal


def test_packing_moves_calls_together_that_greedy_placement_spread_over_hosts():
    # Call 0 prefers host 0, where call 1 has no capacity left: both fit on host 1, which spares a host.
    together = problem(
        [[3], [5]], kind([2], [1, 2], calls=(0,), cost=[0.0, 1.0]), kind([3], [1], calls=(1,), hosts=[1])
    )
    assert placements(solve(together, packs=True, limit_s=0.0, seed=1)) == [[1, 0], [1]]
    assert placements(solve(together, packs=True, limit_s=LONG_S, seed=1)) == [[0, 1], [1]]


def test_problem_without_hosts_serves_nothing():
    result = solve(problem([[4]], kind([9], [], calls=(0,), hosts=[])), packs=False, limit_s=LONG_S, seed=1)
    assert (result.solution.calls, result.solution.optimal) == (0, True)
