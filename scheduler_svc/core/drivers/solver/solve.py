# SPDX-License-Identifier: Apache-2.0
"""Two-stage solving within a budget: serve the most calls, then improve their placement."""

from dataclasses import dataclass, replace

from scheduler_svc.core.drivers.solver import greedy
from scheduler_svc.core.drivers.solver.mip import Budget, StopReason
from scheduler_svc.core.drivers.solver.model import MipModel
from scheduler_svc.core.drivers.solver.objectives import SoftObjectives
from scheduler_svc.core.drivers.solver.problem import PlacementProblem, PlacementSolution, is_feasible

GAP = 0.01  # relative gap to the proven bound at which the second stage stops


@dataclass(frozen=True, slots=True)
class SolveResult:
    solution: PlacementSolution
    greedy_calls: int  # calls served by the greedy placement
    seconds: float
    # Limit that ended the search; with WORK, the same problem always has the same solution.
    stop_reason: StopReason | None
    is_greedy: bool  # The search reached its limit before it improved the greedy placement.


def solve(problem: PlacementProblem, *, packs: bool, budget: Budget, seed: int) -> SolveResult:
    """Return a solution that serves at least as many calls as the greedy placement."""
    greedy_solution = greedy.place(problem, packs)
    best = replace(greedy_solution, optimal=greedy_solution.calls == problem.calls or not problem.columns)
    if problem.columns and not budget.stop_reason:
        model = MipModel(problem)
        if not best.optimal:
            best = _serve_most(model, best, budget, seed)
        if best.calls and not budget.stop_reason:
            best = _improve_placement(model, best, packs, budget, seed)
    is_greedy = best.placements is greedy_solution.placements and budget.stop_reason is not None
    return SolveResult(best, greedy_solution.calls, budget.elapsed_s, budget.stop_reason, is_greedy)


def _serve_most(model: MipModel, baseline: PlacementSolution, budget: Budget, seed: int) -> PlacementSolution:
    costs = model.serving_costs()
    result = model.program.minimise(costs, model.values(baseline), budget=budget, gap=0.0, seed=seed)
    if result.values is None:
        return baseline
    solution = model.solution(result.values, result.optimal)
    if not is_feasible(model.problem, solution):
        return baseline
    # Prefer the greedy placement unless more calls are served: it considers costs, this stage does not.
    return solution if solution.calls > baseline.calls else replace(baseline, optimal=solution.optimal)


def _improve_placement(
    model: MipModel, baseline: PlacementSolution, packs: bool, budget: Budget, seed: int
) -> PlacementSolution:
    objectives = SoftObjectives(model, packs)
    model.serve_at_least(baseline.calls)
    start = objectives.complete(model.values(baseline))
    result = model.program.minimise(objectives.costs(), start, budget=budget, gap=GAP, seed=seed)
    if result.values is None:
        return baseline
    solution = model.solution(result.values, baseline.optimal)
    return solution if is_feasible(model.problem, solution) and solution.calls >= baseline.calls else baseline
