# SPDX-License-Identifier: Apache-2.0
"""What is liked better of solutions that serve as many calls, as columns of their own and what these cost.

* Packing: an empty host that is used costs more than all else together; beside that the worse hosts cost, by weight.
* Spreading: a host costs by how good it is now, and by the weights W that it gets as W * W / 2: the integral of a host
  that each placement makes worse by its weight. That curve is drawn by its chords.
* Evenness: what is left of a host costs by how unlike the classes' shares of it are. A host of which one class is gone
  strands the others, and the scores of weighers, a sum over classes, do not see it.
* A soft server group: members cost that are not where it would have them.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scheduler_svc.drivers.solver.mip import Terms
from scheduler_svc.drivers.solver.model import Model
from scheduler_svc.drivers.solver.problem import Rule
from scheduler_svc.table.columns import FloatColumn

CORNERS = (0, 1, 2, 3, 4, 6, 9, 14, 24, 48)  # where chords meet, in placements of mean weight
EVEN = 1.0  # what a host costs of which all is left of one class and nothing of another, in the same unit
SOFT = 1.0  # what a member costs that is not where its group would have it, in what a weigher at most says


class Wish(NamedTuple):
    """A column, what it costs, and the least that it can be where placements have certain values."""

    column: int
    cost: float
    least: Callable[[FloatColumn], float]


class Wishes:
    """The wishes of one model; made after all that must hold is in it."""

    def __init__(self, model: Model, packs: bool) -> None:
        self._model = model
        self._wishes = [*(_packed(model) if packs else _spread(model)), *_even(model)]
        for rule in model.problem.rules:
            if rule.most is None:
                self._wishes += _apart(model, rule) if rule.apart else _close(model, rule)

    def costs(self) -> FloatColumn:
        """Return what each column of the program costs."""
        found = np.zeros(self._model.program.columns)
        for kind, placed in zip(self._model.problem.kinds, self._model.placed, strict=True):
            found[placed] = kind.cost * kind.weight
        for wish in self._wishes:
            found[wish.column] = wish.cost
        return found

    def complete(self, values: FloatColumn) -> FloatColumn:
        """Return the values of a solution with those of the wishes' columns."""
        found = values.copy()
        for wish in self._wishes:
            found[wish.column] = wish.least(values)
        return found


def _packed(model: Model) -> Iterator[Wish]:
    problem = model.problem
    # More than all placements can cost otherwise, so that no host is opened to spare anything but another.
    dear = 1.0 + EVEN * len(model.at) + SOFT * sum(sum(kind.sizes) for kind in problem.kinds)
    dear += sum(float(kind.weight * kind.cost.max(initial=0.0)) * sum(kind.sizes) for kind in problem.kinds)
    empty = problem.empty
    most = dict(_bounds(model))
    for host, there in model.at.items():
        if empty[host]:
            opened = model.program.whole(1.0)
            for _, column in there:
                model.program.row([(column, 1.0), (opened, -most[column])], most=0.0)
            yield Wish(opened, dear, _used([column for _, column in there]))


def _spread(model: Model) -> Iterator[Wish]:
    kinds = model.problem.kinds
    mean = float(np.mean([kind.weight for kind in kinds]))
    most = dict(_bounds(model))
    for there in model.at.values():
        weights = [(column, kinds[number].weight) for number, column in there]
        reach = sum(weight * most[column] for column, weight in weights)
        chords = list(_chords(mean, reach))
        curve = model.program.real()
        for slope, drop in chords:
            model.program.row([(curve, 1.0), *((column, -slope * weight) for column, weight in weights)], least=-drop)
        yield Wish(curve, 1.0, _height(weights, chords))


def _even(model: Model) -> Iterator[Wish]:
    problem = model.problem
    for host, there in model.at.items():
        capacity = problem.capacity[host].astype(np.float64)
        shares = problem.free[host] / np.maximum(capacity, 1.0)
        sides: list[tuple[Terms, float]] = []
        for more, less in itertools.permutations(np.flatnonzero(capacity).tolist(), 2):
            parts = ((column, problem.kinds[number].amounts / np.maximum(capacity, 1.0)) for number, column in there)
            terms: Terms = [(column, float(part[less] - part[more])) for column, part in parts]
            sides.append((terms, float(shares[more] - shares[less])))
        if sides:
            skew = model.program.real()
            for terms, before in sides:
                model.program.row([(skew, 1.0), *((column, -factor) for column, factor in terms)], least=before)
            yield Wish(skew, EVEN, _largest(sides))


def _apart(model: Model, rule: Rule) -> Iterator[Wish]:
    for host, terms in model.members(rule).items():
        spare = 1 - int(rule.held[host])  # below 0 where some are there: each one more costs
        beyond = model.program.real()
        model.program.row([(beyond, 1.0), *((column, -1.0) for column, _ in terms)], least=-float(max(0, spare)))
        yield Wish(beyond, SOFT * max(1, 1 - spare), _height(terms, [(1.0, float(max(0, spare)))]))


def _close(model: Model, rule: Rule) -> Iterator[Wish]:
    most = dict(_bounds(model))
    for host, terms in model.members(rule).items():
        if rule.held[host]:
            continue  # where members are already is as close as can be
        used = model.program.whole(1.0)
        for column, _ in terms:
            model.program.row([(column, 1.0), (used, -most[column])], most=0.0)
        yield Wish(used, SOFT, _used([column for column, _ in terms]))


def _bounds(model: Model) -> Iterator[tuple[int, float]]:
    for kind, placed in zip(model.problem.kinds, model.placed, strict=True):
        yield from zip(placed, kind.most.astype(float).tolist(), strict=True)


def _chords(mean: float, reach: float) -> Iterator[tuple[float, float]]:
    """Yield the chords of W * W / 2 as slopes, and how far below 0 they begin."""
    for left, right in itertools.pairwise(CORNERS):
        if left and left * mean >= reach:
            return
        yield mean * (left + right) / 2, mean * mean * left * right / 2


def _used(columns: Sequence[int]) -> Callable[[FloatColumn], float]:
    return lambda values: float(values[columns].any())


def _height(weights: Terms, chords: Sequence[tuple[float, float]]) -> Callable[[FloatColumn], float]:
    return _largest([([(column, slope * weight) for column, weight in weights], -drop) for slope, drop in chords])


def _largest(sides: Sequence[tuple[Terms, float]]) -> Callable[[FloatColumn], float]:
    """Return the largest of sums, each with what is added to it; at least 0."""

    def least(values: FloatColumn) -> float:
        return max(0.0, *(sum(factor * values[at] for at, factor in terms) + more for terms, more in sides))

    return least
