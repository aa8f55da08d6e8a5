# SPDX-License-Identifier: Apache-2.0
"""A batch of calls for hosts as a problem of integers, and what a solution of it is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scheduler_svc.table.columns import FloatColumn, IntColumn


@dataclass(frozen=True, slots=True)
class Kind:
    """Calls that ask for the same: any of their placements can stand in for another.

    A placement is one instance, or all of a call that must stay together. ``amounts`` is what one takes, in the
    problem's order of classes. ``hosts`` are indexes of the problem's hosts, best first; beside them ``most``, how many
    placements each takes by itself, and ``cost``, from 0 up, how much worse than the best one there is. ``calls`` are
    numbers of calls, in their order; beside them ``sizes``, how many placements each wants. ``weight`` is by how much
    a placement changes how good a host is, in the unit of ``cost``.
    """

    amounts: IntColumn
    hosts: IntColumn
    most: IntColumn
    cost: FloatColumn
    calls: tuple[int, ...]
    sizes: tuple[int, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What a server group lets ``kinds`` (by their numbers) place on each of the problem's hosts, all together.

    ``held`` is how many members each host holds. ``most`` None lets everything; then ``apart`` tells whether members
    should rather be apart (each beyond a host's first costs) or close together (each host that they are on costs).
    """

    kinds: tuple[int, ...]
    held: IntColumn
    most: int | None = None
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Problem:
    """``free`` and ``capacity`` have a row a host and a column a class."""

    free: npt.NDArray[np.int64]
    capacity: npt.NDArray[np.int64]
    kinds: tuple[Kind, ...]
    rules: tuple[Rule, ...] = ()

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Tell which hosts nothing is on."""
        return (self.free == self.capacity).all(axis=1)

    @property
    def columns(self) -> int:
        """How many pairs of a kind and a host there are: what the time to solve it grows with."""
        return sum(len(kind.hosts) for kind in self.kinds)

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return sum(len(kind.calls) for kind in self.kinds)


@dataclass(frozen=True, slots=True)
class Solution:
    """For each kind how many placements each of its hosts gets, and which of its calls are served.

    ``optimal`` tells whether no solution serves more calls.
    """

    placed: tuple[IntColumn, ...]
    served: tuple[tuple[bool, ...], ...]
    optimal: bool = False

    @property
    def calls(self) -> int:
        """How many calls are served."""
        return sum(sum(each) for each in self.served)


def holds(problem: Problem, solution: Solution) -> bool:
    """Tell whether a solution keeps to capacity, to what each host takes, to every rule, and serves calls whole."""
    taken = np.zeros_like(problem.free)
    for kind, placed, served in zip(problem.kinds, solution.placed, solution.served, strict=True):
        wanted = sum(size for size, is_served in zip(kind.sizes, served, strict=True) if is_served)
        if (placed < 0).any() or (placed > kind.most).any() or placed.sum() != wanted:
            return False
        taken[kind.hosts] += placed[:, None] * kind.amounts
    return not (taken > problem.free).any() and all(_kept(problem, solution, rule) for rule in problem.rules)


def members(problem: Problem, solution: Solution, rule: Rule) -> IntColumn:
    """Return how many placements that a rule is about each host gets."""
    found = np.zeros(len(problem.free), np.int64)
    for number in rule.kinds:
        found[problem.kinds[number].hosts] += solution.placed[number]
    return found


def _kept(problem: Problem, solution: Solution, rule: Rule) -> bool:
    new = members(problem, solution, rule)
    return rule.most is None or not ((new > 0) & (rule.held + new > rule.most)).any()
