# SPDX-License-Identifier: Apache-2.0
"""Two-stage solving within a time limit: first serve the most calls, then place them best."""

import time
from dataclasses import dataclass, replace

from scheduler_svc.core.drivers.solver import greedy
from scheduler_svc.core.drivers.solver.model import MipModel
from scheduler_svc.core.drivers.solver.objectives import SoftObjectives
from scheduler_svc.core.drivers.solver.problem import PlacementProblem, PlacementSolution, is_feasible

GAP = 0.01  # relative gap to the proven bound at which placing stops


@dataclass(frozen=True, slots=True)
class SolveResult:
    """The best solution found, the calls that the greedy placement serves, and the seconds taken.

    ``is_late`` says whether the time ran out before anything better than the greedy placement was found.
    """

    solution: PlacementSolution
    greedy_calls: int
    seconds: float
    is_late: bool


def solve(problem: PlacementProblem, *, packs: bool, limit_s: float, seed: int) -> SolveResult:
    """Return a solution that serves at least as many calls as the greedy placement."""
    started = time.monotonic()

    def remaining_s() -> float:
        return limit_s - (time.monotonic() - started)

    greedy_solution = greedy.place(problem, packs)
    best = replace(greedy_solution, optimal=greedy_solution.calls == problem.calls or not problem.columns)
    if problem.columns and remaining_s() > 0:
        model = MipModel(problem)
        if not best.optimal:
            best = _serve_most(model, best, remaining_s(), seed)
        if best.calls and remaining_s() > 0:
            best = _improve_placement(model, best, packs, remaining_s(), seed)
    seconds = time.monotonic() - started
    return SolveResult(
        best, greedy_solution.calls, seconds, best.placements is greedy_solution.placements and seconds >= limit_s
    )


def _serve_most(model: MipModel, baseline: PlacementSolution, limit_s: float, seed: int) -> PlacementSolution:
    costs = model.serving_costs()
    result = model.program.minimise(costs, model.values(baseline), limit_s=limit_s, gap=0.0, seed=seed)
    if result.values is None:
        return baseline
    solution = model.solution(result.values, result.optimal)
    if not is_feasible(model.problem, solution):
        return baseline
    # With equally many calls keep the baseline: the greedy placement considers costs, this stage does not.
    return solution if solution.calls > baseline.calls else replace(baseline, optimal=solution.optimal)


def _improve_placement(
    model: MipModel, baseline: PlacementSolution, packs: bool, limit_s: float, seed: int
) -> PlacementSolution:
    objectives = SoftObjectives(model, packs)
    model.serve_at_least(baseline.calls)
    start = objectives.complete(model.values(baseline))
    result = model.program.minimise(objectives.costs(), start, limit_s=limit_s, gap=GAP, seed=seed)
    if result.values is None:
        return baseline
    solution = model.solution(result.values, baseline.optimal)
    return solution if is_feasible(model.problem, solution) and solution.calls >= baseline.calls else baseline
