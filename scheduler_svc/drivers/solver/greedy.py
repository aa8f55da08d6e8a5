# SPDX-License-Identifier: Apache-2.0
"""One call after the other, each on the best hosts that are left: where solving begins, and what it must beat."""

import numpy as np

from scheduler_svc.drivers.solver.problem import Kind, Problem, Solution
from scheduler_svc.table.columns import IntColumn


def place(problem: Problem, packs: bool) -> Solution:
    """Serve the calls in their order, each whole or not at all."""
    course = _Course(problem, packs)
    served = [[False] * len(kind.calls) for kind in problem.kinds]
    order = sorted(
        (call, number, at, size)
        for number, kind in enumerate(problem.kinds)
        for at, (call, size) in enumerate(zip(kind.calls, kind.sizes, strict=True))
    )
    for _, number, at, size in order:
        served[number][at] = course.serve(number, size)
    return Solution(tuple(course.placed), tuple(tuple(each) for each in served))


class _Course:
    """What has been given so far."""

    def __init__(self, problem: Problem, packs: bool) -> None:
        self._problem = problem
        self._sign = -1.0 if packs else 1.0
        self._free = problem.free.copy()
        self._changed = np.zeros(len(problem.free))  # how much worse (or, packing, better) hosts have become
        self._members = [rule.held.copy() for rule in problem.rules]
        self.placed: list[IntColumn] = [np.zeros(len(kind.hosts), np.int64) for kind in problem.kinds]

    def serve(self, number: int, size: int) -> bool:
        """Give a call all its placements, or none."""
        given: list[int] = []
        for _ in range(size):
            at = self._best(number)
            if at is None:
                for each in given:
                    self._give(number, each, -1)
                return False
            self._give(number, at, 1)
            given.append(at)
        return True

    def _best(self, number: int) -> int | None:
        kind = self._problem.kinds[number]
        open_hosts = self._open(number, kind)
        if not len(open_hosts):
            return None
        worth = kind.cost[open_hosts] + self._changed[kind.hosts[open_hosts]]
        return int(open_hosts[np.argmin(worth)])

    def _open(self, number: int, kind: Kind) -> IntColumn:
        """Return the places in ``kind.hosts`` that take one more."""
        takes = (self._free[kind.hosts] >= kind.amounts).all(axis=1) & (self.placed[number] < kind.most)
        for rule, held in zip(self._problem.rules, self._members, strict=True):
            if number in rule.kinds and rule.most is not None:
                takes &= held[kind.hosts] < rule.most
        return np.flatnonzero(takes)

    def _give(self, number: int, at: int, sign: int) -> None:
        kind = self._problem.kinds[number]
        host = kind.hosts[at]
        self.placed[number][at] += sign
        self._free[host] -= sign * kind.amounts
        self._changed[host] += sign * self._sign * kind.weight
        for rule, held in zip(self._problem.rules, self._members, strict=True):
            if number in rule.kinds:
                held[host] += sign
