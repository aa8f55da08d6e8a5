# SPDX-License-Identifier: Apache-2.0
"""A solution as rankings: for each instance the host that it was given, then others that have room beside the batch."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler_svc.drivers.driver import Ranking, Wanted, width
from scheduler_svc.drivers.solver.problem import Solution
from scheduler_svc.drivers.solver.survey import Survey

SHOWN = 5  # hosts in the decision's record


def rankings(
    survey: Survey, solution: Solution, wanted: Sequence[Wanted], batch: Mapping[str, Any]
) -> dict[int, Ranking]:
    """Return the rankings of the calls that are served, by their numbers."""
    problem = survey.problem
    spare = problem.free.copy()
    for kind, placed in zip(problem.kinds, solution.placed, strict=True):
        spare[kind.hosts] -= placed[:, None] * kind.amounts
    found = {}
    for number, kind in enumerate(problem.kinds):
        part = _Part(survey, number, np.flatnonzero((spare[kind.hosts] >= kind.amounts).all(axis=1)).tolist())
        given = iter(np.repeat(np.arange(len(kind.hosts)), solution.placed[number]).tolist())
        for call, size, is_served in zip(kind.calls, kind.sizes, solution.served[number], strict=True):
            if is_served:
                its = list(itertools.islice(given, size))
                found[call] = part.ranking(its, wanted[call].count, batch)
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    """One kind's part of a solution; ``roomy`` are the places in its hosts that have room beside the batch."""

    survey: Survey
    kind: int
    roomy: Sequence[int]

    def ranking(self, given: Sequence[int], count: int, batch: Mapping[str, Any]) -> Ranking:
        """Return the ranking of ``count`` instances, of which each placement holds as many as any other."""
        pick, most = self.survey.picks[self.kind], width(count)
        others = self.roomy[:most]
        orders = [[at, *(other for other in others if other != at)][:most] for at in given]
        candidates = [[self._name(at) for at in order] for order in orders for _ in range(count // len(given))]
        best = [
            {"name": self._name(at), "score": round(float(pick.scores[at]), 6), "weights": {}}
            for at in list(dict.fromkeys(given))[:SHOWN]
        ]
        return Ranking(candidates, pick.left.hosts, pick.left.reasons, best, batch=batch)

    def _name(self, at: int) -> str:
        return self.survey.names[self.survey.problem.kinds[self.kind].hosts[at]]
