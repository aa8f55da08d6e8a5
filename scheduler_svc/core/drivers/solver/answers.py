# SPDX-License-Identifier: Apache-2.0
"""Rankings from a solution: first the assigned host, then hosts with capacity left after the batch."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_svc.core.drivers.driver import Ranking, RankRequest, max_candidates
from scheduler_svc.core.drivers.solver.batch_problem import BatchProblem
from scheduler_svc.core.drivers.solver.problem import PlacementSolution
from scheduler_svc.core.drivers.spread import separate_alternates

RECORDED_HOSTS = 5


def rankings(
    batch_problem: BatchProblem, solution: PlacementSolution, requests: Sequence[RankRequest], batch: Mapping[str, Any]
) -> dict[int, Ranking]:
    problem = batch_problem.problem
    spare = problem.free.copy()
    for kind, placements in zip(problem.kinds, solution.placements, strict=True):
        spare[kind.hosts] -= placements[:, None] * kind.amounts
    rankings_by_call = {}
    for number, kind in enumerate(problem.kinds):
        kind_rankings = _KindRankings(
            batch_problem, number, np.flatnonzero((spare[kind.hosts] >= kind.amounts).all(axis=1)).tolist()
        )
        indexes = iter(np.repeat(np.arange(len(kind.hosts)), solution.placements[number]).tolist())
        for call, size, is_served in zip(kind.calls, kind.sizes, solution.served_calls[number], strict=True):
            if is_served:
                call_indexes = list(itertools.islice(indexes, size))
                rankings_by_call[call] = kind_rankings.ranking(call_indexes, requests[call].count, batch)
    return rankings_by_call


@dataclass(frozen=True, slots=True)
class _KindRankings:
    """Rankings of one kind of call. ``spare_indexes`` are the kind's hosts with capacity left after the batch."""

    batch_problem: BatchProblem
    kind: int
    spare_indexes: Sequence[int]

    def ranking(self, indexes: Sequence[int], count: int, batch: Mapping[str, Any]) -> Ranking:
        """Rank hosts for ``count`` instances, distributed evenly over the placements at ``indexes``."""
        pick, limit = self.batch_problem.picks[self.kind], max_candidates(count)
        others = self.spare_indexes[:limit]
        orders = [[index, *(other for other in others if other != index)][:limit] for index in indexes]
        orders = [order for order in orders for _ in range(count // len(indexes))]
        if pick.call_group.request.max_instances_per_host:
            orders = separate_alternates(orders, self.spare_indexes)
        candidates = [[self._name(index) for index in order] for order in orders]
        best = [
            {"name": self._name(index), "score": round(float(pick.scores[index]), 6), "weights": {}}
            for index in list(dict.fromkeys(indexes))[:RECORDED_HOSTS]
        ]
        return Ranking(candidates, pick.survivors.hosts, pick.survivors.reasons, best, batch=batch)

    def _name(self, index: int) -> str:
        return self.batch_problem.names[int(self.batch_problem.problem.kinds[self.kind].hosts[index])]
