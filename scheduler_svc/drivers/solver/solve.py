# SPDX-License-Identifier: Apache-2.0
"""Solving: first as many calls as can be, then placed as well as can be, in the time there is."""

import time
from dataclasses import dataclass, replace

from scheduler_svc.drivers.solver import greedy
from scheduler_svc.drivers.solver.model import Model
from scheduler_svc.drivers.solver.problem import Problem, Solution, holds
from scheduler_svc.drivers.solver.wishes import Wishes

GAP = 0.01  # the share by which placing may be worse than the best that can be proven


@dataclass(frozen=True, slots=True)
class Solved:
    """The best solution that was found; how many calls are served one after the other; seconds that it took.

    ``is_late`` tells whether the time was over before anything better than one after the other was found.
    """

    solution: Solution
    one_by_one: int
    seconds: float
    is_late: bool


def solve(problem: Problem, *, packs: bool, limit_s: float, seed: int) -> Solved:
    """Return a solution that serves no fewer calls than one after the other does."""
    began = time.monotonic()

    def left() -> float:
        return limit_s - (time.monotonic() - began)

    first = greedy.place(problem, packs)
    best = replace(first, optimal=first.calls == problem.calls or not problem.columns)
    if problem.columns and left() > 0:
        model = Model(problem)
        if not best.optimal:
            best = _serve_most(model, best, left(), seed)
        if best.calls and left() > 0:
            best = _place_well(model, best, packs, left(), seed)
    seconds = time.monotonic() - began
    return Solved(best, first.calls, seconds, best.placed is first.placed and seconds >= limit_s)


def _serve_most(model: Model, known: Solution, limit_s: float, seed: int) -> Solution:
    costs = model.serving()
    outcome = model.program.minimise(costs, model.values(known), limit_s=limit_s, gap=0.0, seed=seed)
    if outcome.values is None:
        return known
    found = model.solution(outcome.values, outcome.optimal)
    if not holds(model.problem, found):
        return known
    # As many as before: what is known was placed with some thought, what is found was not.
    return found if found.calls > known.calls else replace(known, optimal=found.optimal)


def _place_well(model: Model, known: Solution, packs: bool, limit_s: float, seed: int) -> Solution:
    wishes = Wishes(model, packs)
    model.serve_at_least(known.calls)
    start = wishes.complete(model.values(known))
    outcome = model.program.minimise(wishes.costs(), start, limit_s=limit_s, gap=GAP, seed=seed)
    if outcome.values is None:
        return known
    found = model.solution(outcome.values, known.optimal)
    return found if holds(model.problem, found) and found.calls >= known.calls else known
