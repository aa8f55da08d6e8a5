# SPDX-License-Identifier: Apache-2.0
"""Greedy placement, call by call on the best remaining hosts: the solver's starting point and lower bound."""

import numpy as np

from scheduler_svc.core.drivers.solver.problem import CallKind, PlacementProblem, PlacementSolution
from scheduler_svc.core.table.columns import IntColumn


def place(problem: PlacementProblem, packs: bool) -> PlacementSolution:
    """Serve calls in order, each fully or not at all."""
    state = _GreedyState(problem, packs)
    served = [[False] * len(kind.calls) for kind in problem.kinds]
    order = sorted(
        (call, number, index, size)
        for number, kind in enumerate(problem.kinds)
        for index, (call, size) in enumerate(zip(kind.calls, kind.sizes, strict=True))
    )
    for _, number, index, size in order:
        served[number][index] = state.serve(number, size)
    return PlacementSolution(tuple(state.placements), tuple(tuple(kind_calls) for kind_calls in served))


class _GreedyState:
    def __init__(self, problem: PlacementProblem, packs: bool) -> None:
        self._problem = problem
        self._sign = -1.0 if packs else 1.0
        self._free = problem.free.copy()
        self._cost_changes = np.zeros(len(problem.free))  # cost increase per host; a decrease when packing
        self._member_counts = [rule.member_counts.copy() for rule in problem.rules]
        self.placements: list[IntColumn] = [np.zeros(len(kind.hosts), np.int64) for kind in problem.kinds]

    def serve(self, number: int, size: int) -> bool:
        """Place a call fully or not at all; return whether it was placed."""
        assigned: list[int] = []
        for _ in range(size):
            index = self._best(number)
            if index is None:
                for assigned_index in assigned:
                    self._add(number, assigned_index, -1)
                return False
            self._add(number, index, 1)
            assigned.append(index)
        return True

    def _best(self, number: int) -> int | None:
        """Return the index in ``kind.hosts`` of the best host; None if no host takes one more placement."""
        kind = self._problem.kinds[number]
        open_hosts = self._open(number, kind)
        if not len(open_hosts):
            return None
        costs = kind.cost[open_hosts] + self._cost_changes[kind.hosts[open_hosts]]
        return int(open_hosts[np.argmin(costs)])

    def _open(self, number: int, kind: CallKind) -> IntColumn:
        fits = (self._free[kind.hosts] >= kind.amounts).all(axis=1) & (self.placements[number] < kind.max_per_host)
        for rule, member_counts in zip(self._problem.rules, self._member_counts, strict=True):
            if number in rule.kinds and rule.max_members is not None:
                fits &= member_counts[kind.hosts] < rule.max_members
        return np.flatnonzero(fits)

    def _add(self, number: int, index: int, sign: int) -> None:
        kind = self._problem.kinds[number]
        host = kind.hosts[index]
        self.placements[number][index] += sign
        self._free[host] -= sign * kind.amounts
        self._cost_changes[host] += sign * self._sign * kind.weight
        for rule, member_counts in zip(self._problem.rules, self._member_counts, strict=True):
            if number in rule.kinds:
                member_counts[host] += sign
