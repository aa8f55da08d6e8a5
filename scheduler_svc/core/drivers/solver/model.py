# SPDX-License-Identifier: Apache-2.0
"""Mixed integer program of a placement problem: columns count served calls by size, and placements by host."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_svc.core.drivers.solver.mip import MipProgram
from scheduler_svc.core.drivers.solver.problem import GroupRule, PlacementProblem, PlacementSolution
from scheduler_svc.core.table.columns import FloatColumn, IntColumn


class MipModel:
    """Program of one problem with its hard constraints; SoftObjectives adds the costs."""

    def __init__(self, problem: PlacementProblem) -> None:
        self.program = MipProgram()
        self.problem = problem
        self.sizes = [sorted(Counter(kind.sizes).items()) for kind in problem.kinds]
        self.served_columns = [self.program.add_integers([calls for _, calls in sizes]) for sizes in self.sizes]
        self.placement_columns = [self.program.add_integers(kind.max_per_host) for kind in problem.kinds]
        self._require_whole_calls()
        self._limit_to_capacity()
        for rule in problem.rules:
            self._limit_to_rule(rule)

    @property
    def hosts(self) -> IntColumn:
        return np.arange(len(self.problem.free))

    def serving_costs(self) -> FloatColumn:
        costs = np.zeros(self.program.columns)
        costs[np.concatenate(self.served_columns)] = -1.0
        return costs

    def serve_at_least(self, calls: int) -> None:
        columns = np.concatenate(self.served_columns)
        self.program.add_rows([(np.zeros_like(columns), columns, 1.0)], lower=float(calls))

    def sums(self, values: FloatColumn, factors: Sequence[float], kinds: Iterable[int] | None = None) -> FloatColumn:
        """Sum the placements on each host, weighted by the ``factors`` of their kinds."""
        host_sums = np.zeros(len(self.problem.free))
        for number in range(len(self.placement_columns)) if kinds is None else kinds:
            host_sums[self.problem.kinds[number].hosts] += factors[number] * values[self.placement_columns[number]]
        return host_sums

    def values(self, solution: PlacementSolution) -> FloatColumn:
        values = np.zeros(self.program.columns)
        for number, kind in enumerate(self.problem.kinds):
            served = Counter(
                size for size, is_served in zip(kind.sizes, solution.served_calls[number], strict=True) if is_served
            )
            values[self.served_columns[number]] = [served[size] for size, _ in self.sizes[number]]
            values[self.placement_columns[number]] = solution.placements[number]
        return values

    def solution(self, values: FloatColumn, optimal: bool) -> PlacementSolution:
        """Convert column values to a solution, which serves the first of identical calls."""
        integers = np.rint(values).astype(np.int64)
        served = []
        for number, kind in enumerate(self.problem.kinds):
            counts = integers[self.served_columns[number]].tolist()
            remaining = {size: count for (size, _), count in zip(self.sizes[number], counts, strict=True)}
            served_flags = []
            for size in kind.sizes:
                served_flags.append(remaining[size] > 0)
                remaining[size] -= 1
            served.append(tuple(served_flags))
        return PlacementSolution(tuple(integers[columns] for columns in self.placement_columns), tuple(served), optimal)

    def _require_whole_calls(self) -> None:
        for sizes, served, placements in zip(self.sizes, self.served_columns, self.placement_columns, strict=True):
            required = (np.zeros_like(served), served, [-float(size) for size, _ in sizes])
            self.program.add_rows([required, (np.zeros_like(placements), placements, 1.0)], lower=0.0, upper=0.0)

    def _limit_to_capacity(self) -> None:
        kinds = self.problem.kinds
        for number, free in enumerate(self.problem.free.T):
            users = [index for index, kind in enumerate(kinds) if kind.amounts[number]]
            # Scale amounts such as memory, because solvers use an absolute tolerance.
            scale = float(max((kinds[index].amounts[number] for index in users), default=1))
            parts = [
                (kinds[index].hosts, self.placement_columns[index], kinds[index].amounts[number] / scale)
                for index in users
            ]
            self.program.add_rows(parts, upper=free / scale)

    def _limit_to_rule(self, rule: GroupRule) -> None:
        if rule.max_members is not None:
            parts = [(self.problem.kinds[number].hosts, self.placement_columns[number], 1.0) for number in rule.kinds]
            self.program.add_rows(parts, upper=np.maximum(0, rule.max_members - rule.member_counts))
