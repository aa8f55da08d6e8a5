# SPDX-License-Identifier: Apache-2.0
"""A problem as a mixed integer program, and the program's values as a solution.

Its columns are, for each kind and size of call, how many calls are served, and for each kind and host, how many
placements the host gets.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_svc.drivers.solver.mip import Program
from scheduler_svc.drivers.solver.problem import Problem, Rule, Solution
from scheduler_svc.table.columns import FloatColumn, IntColumn


class Model:
    """The program of one problem, with all that must hold; what is liked better is added by wishes."""

    def __init__(self, problem: Problem) -> None:
        self.program = Program()
        self.problem = problem
        self.sizes = [sorted(Counter(kind.sizes).items()) for kind in problem.kinds]
        self.served = [self.program.whole([calls for _, calls in sizes]) for sizes in self.sizes]
        self.placed = [self.program.whole(kind.most) for kind in problem.kinds]
        self._serve_whole()
        self._keep_capacity()
        for rule in problem.rules:
            self._keep_rule(rule)

    @property
    def hosts(self) -> IntColumn:
        """Return the numbers of all hosts: rows of a block that has one for each."""
        return np.arange(len(self.problem.free))

    def serving(self) -> FloatColumn:
        """Return costs that are least when most calls are served."""
        costs = np.zeros(self.program.columns)
        costs[np.concatenate(self.served)] = -1.0
        return costs

    def serve_at_least(self, calls: int) -> None:
        """Let no solution serve fewer."""
        every = np.concatenate(self.served)
        self.program.rows([(np.zeros_like(every), every, 1.0)], least=float(calls))

    def sums(self, values: FloatColumn, factors: Sequence[float], kinds: Iterable[int] | None = None) -> FloatColumn:
        """Return for each host the sum of its placements' values, those of each kind times its factor."""
        found = np.zeros(len(self.problem.free))
        for number in range(len(self.placed)) if kinds is None else kinds:
            found[self.problem.kinds[number].hosts] += factors[number] * values[self.placed[number]]
        return found

    def values(self, solution: Solution) -> FloatColumn:
        """Return a solution as the program's values; 0 in the columns of wishes."""
        values = np.zeros(self.program.columns)
        for number, kind in enumerate(self.problem.kinds):
            served = Counter(size for size, its in zip(kind.sizes, solution.served[number], strict=True) if its)
            values[self.served[number]] = [served[size] for size, _ in self.sizes[number]]
            values[self.placed[number]] = solution.placed[number]
        return values

    def solution(self, values: FloatColumn, optimal: bool) -> Solution:
        """Return values as a solution: of alike calls the first are served."""
        whole = np.rint(values).astype(np.int64)
        served = []
        for number, kind in enumerate(self.problem.kinds):
            counts = whole[self.served[number]].tolist()
            left = {size: count for (size, _), count in zip(self.sizes[number], counts, strict=True)}
            taken = []
            for size in kind.sizes:
                taken.append(left[size] > 0)
                left[size] -= 1
            served.append(tuple(taken))
        return Solution(tuple(whole[columns] for columns in self.placed), tuple(served), optimal)

    def _serve_whole(self) -> None:
        for sizes, served, placed in zip(self.sizes, self.served, self.placed, strict=True):
            wanted = (np.zeros_like(served), served, [-float(size) for size, _ in sizes])
            self.program.rows([wanted, (np.zeros_like(placed), placed, 1.0)], least=0.0, most=0.0)

    def _keep_capacity(self) -> None:
        kinds = self.problem.kinds
        for number, free in enumerate(self.problem.free.T):
            taking = [at for at, kind in enumerate(kinds) if kind.amounts[number]]
            # Scaled: what solvers call equal is a fixed difference, and memory comes in large numbers.
            scale = float(max((kinds[at].amounts[number] for at in taking), default=1))
            parts = [(kinds[at].hosts, self.placed[at], kinds[at].amounts[number] / scale) for at in taking]
            self.program.rows(parts, most=free / scale)

    def _keep_rule(self, rule: Rule) -> None:
        if rule.most is not None:
            parts = [(self.problem.kinds[number].hosts, self.placed[number], 1.0) for number in rule.kinds]
            self.program.rows(parts, most=np.maximum(0, rule.most - rule.held))
