# SPDX-License-Identifier: Apache-2.0
"""A problem as a mixed integer program, and the program's values as a solution.

Its columns are, for each kind and size of call, how many calls are served, and for each kind and host, how many
placements the host gets.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from scheduler_svc.drivers.solver.mip import Program, Terms
from scheduler_svc.drivers.solver.problem import Problem, Rule, Solution
from scheduler_svc.table.columns import FloatColumn

Columns = Mapping[int, Sequence[tuple[int, int]]]  # for each host the kinds that may go there, and their columns


class Model:
    """The program of one problem, with all that must hold; what is liked better is added by wishes."""

    def __init__(self, problem: Problem) -> None:
        self.program = Program()
        self.problem = problem
        self.served: list[dict[int, int]] = []  # for each kind the columns by size of call
        self.placed: list[list[int]] = []
        at: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, kind in enumerate(problem.kinds):
            alike = Counter(kind.sizes)
            self.served.append({size: self.program.whole(float(alike[size])) for size in sorted(alike)})
            self.placed.append([self.program.whole(float(most)) for most in kind.most])
            for host, column in zip(kind.hosts.tolist(), self.placed[-1], strict=True):
                at[host].append((number, column))
        self.at: Columns = at
        self._serve_whole()
        self._keep_capacity()
        for rule in problem.rules:
            self._keep_rule(rule)

    def serving(self) -> FloatColumn:
        """Return costs that are least when most calls are served."""
        costs = np.zeros(self.program.columns)
        costs[[column for columns in self.served for column in columns.values()]] = -1.0
        return costs

    def serve_at_least(self, calls: int) -> None:
        """Let no solution serve fewer."""
        every = [(column, 1.0) for columns in self.served for column in columns.values()]
        self.program.row(every, least=float(calls))

    def values(self, solution: Solution) -> FloatColumn:
        """Return a solution as the program's values; 0 in the columns of wishes."""
        values = np.zeros(self.program.columns)
        for number, kind in enumerate(self.problem.kinds):
            for size, is_served in zip(kind.sizes, solution.served[number], strict=True):
                values[self.served[number][size]] += is_served
            values[self.placed[number]] = solution.placed[number]
        return values

    def solution(self, values: FloatColumn, optimal: bool) -> Solution:
        """Return values as a solution: of alike calls the first are served."""
        whole = np.rint(values).astype(np.int64)
        served = []
        for number, kind in enumerate(self.problem.kinds):
            left = {size: int(whole[column]) for size, column in self.served[number].items()}
            taken = []
            for size in kind.sizes:
                taken.append(left[size] > 0)
                left[size] -= 1
            served.append(tuple(taken))
        return Solution(tuple(whole[columns] for columns in self.placed), tuple(served), optimal)

    def members(self, rule: Rule) -> Mapping[int, Terms]:
        """Return for each host the placements there that a rule is about."""
        found = {
            host: [(column, 1.0) for number, column in there if number in rule.kinds] for host, there in self.at.items()
        }
        return {host: terms for host, terms in found.items() if terms}

    def _serve_whole(self) -> None:
        for columns, placed in zip(self.served, self.placed, strict=True):
            wanted = [(column, -float(size)) for size, column in columns.items()]
            self.program.row([*wanted, *((column, 1.0) for column in placed)], least=0.0, most=0.0)

    def _keep_capacity(self) -> None:
        kinds, free = self.problem.kinds, self.problem.free
        for host, there in self.at.items():
            for number, amount in enumerate(free[host].tolist()):
                terms = [(column, float(kinds[kind].amounts[number])) for kind, column in there]
                largest = max(factor for _, factor in terms)
                if largest:
                    # Scaled: what solvers call equal is a fixed difference, and memory comes in large numbers.
                    scaled = [(column, factor / largest) for column, factor in terms if factor]
                    self.program.row(scaled, most=amount / largest)

    def _keep_rule(self, rule: Rule) -> None:
        if rule.most is None:
            return
        for host, terms in self.members(rule).items():
            self.program.row(terms, most=float(max(0, rule.most - int(rule.held[host]))))
