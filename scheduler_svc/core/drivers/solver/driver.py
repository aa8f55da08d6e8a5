# SPDX-License-Identifier: Apache-2.0
"""Solver driver: places a batch together; ranks a single request like driver 'filter'."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler_svc.core.built_in import CAPACITY_WEIGHERS
from scheduler_svc.core.drivers.driver import BatchRanking, PendingRanking, Ranking, RankRequest
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.drivers.solver import answers
from scheduler_svc.core.drivers.solver.batch_problem import (
    EMPTY_PROBLEM,
    REASON_SCATTERED,
    BatchProblem,
    build_problem,
)
from scheduler_svc.core.drivers.solver.identical_calls import group_identical, is_whole
from scheduler_svc.core.drivers.solver.mip import Budget
from scheduler_svc.core.drivers.solver.solve import solve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.scoring import WeigherSet

REASON_TOO_LARGE = "the batch is too large"
REASON_CUT = "the limit of the search is reached"
REASON_NO_CAPACITY = "capacity taken by other requests"


@dataclass(frozen=True, slots=True)
class SolverLimits:
    packs: bool = False
    work: int = 20_000
    limit_s: float = 2.0
    hosts: int = 32
    max_pairs: int = 20_000


class SolverDriver(FilterDriver):
    """Driver that serves as many calls of a batch as possible. FilterDriver ranks a call that is alone."""

    def __init__(self, filter_driver: FilterDriver, limits: SolverLimits) -> None:
        """Adopt the filters and weighers. Packing makes the multipliers of capacity weighers negative."""
        weigher_set = _with_objective_sign(filter_driver.weigher_set, limits.packs)
        super().__init__(filter_driver.filters, weigher_set, filter_driver.subset)
        self._limits = limits

    def batches(self, request: SchedulingRequest) -> bool:
        """Return whether root providers alone can serve the request; other requests need the tree search."""
        return is_whole(request)

    def rank_batch(self, view: View, requests: Sequence[RankRequest]) -> PendingRanking:
        kinds, unbatched = group_identical(requests)
        batch_problem = build_problem(view, kinds, self.filters, self.weigher_set, self._limits.hosts)
        if batch_problem.scattered_calls:
            unbatched[REASON_SCATTERED] += batch_problem.scattered_calls
        if batch_problem.problem.columns > self._limits.max_pairs:
            unbatched[REASON_TOO_LARGE] += batch_problem.problem.calls
            batch_problem = BatchProblem(EMPTY_PROBLEM, (), (), batch_problem.refused_rankings)
        return lambda: self._rank_solution(batch_problem, requests, unbatched)

    def _rank_solution(
        self, batch_problem: BatchProblem, requests: Sequence[RankRequest], unbatched: Counter[str]
    ) -> BatchRanking:
        problem = batch_problem.problem
        rankings: dict[int, Ranking] = dict(batch_problem.refused_rankings)
        if problem.calls:
            limits = self._limits
            budget = Budget(limits.work, limits.limit_s)
            result = solve(problem, packs=limits.packs, budget=budget, seed=requests[0].seed)
            batch_record = {
                "calls": problem.calls,
                "served": result.solution.calls,
                "served_one_by_one": result.greedy_calls,
                "is_most": result.solution.optimal,
                "objective": "pack" if limits.packs else "spread",
                "ms": round(1000 * result.seconds, 1),
                **({} if result.stop_reason is None else {"stop_reason": str(result.stop_reason)}),
            }
            rankings |= answers.rankings(batch_problem, result.solution, requests, batch_record)
            unbatched[REASON_NO_CAPACITY] += problem.calls - result.solution.calls
            unbatched[REASON_CUT] += result.solution.calls if result.is_greedy else 0
        return BatchRanking([rankings.get(number) for number in range(len(requests))], +unbatched)


def _with_objective_sign(weigher_set: WeigherSet, packs: bool) -> WeigherSet:
    sign = -1.0 if packs else 1.0
    return WeigherSet(
        tuple(
            (weigher, sign * abs(multiplier) if weigher.name in CAPACITY_WEIGHERS else multiplier)
            for weigher, multiplier in weigher_set
        )
    )
