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
import numpy.typing as npt

from scheduler_svc.drivers.solver.model import Model
from scheduler_svc.drivers.solver.problem import Rule
from scheduler_svc.table.columns import FloatColumn, IntColumn

CORNERS = (0, 1, 2, 3, 4, 6, 9, 14, 24, 48)  # where chords meet, in placements of mean weight
EVEN = 1.0  # what a host costs of which all is left of one class and nothing of another, in the unit of scores
SOFT = 1.0  # what a member costs that is not where its group would have it, in what a weigher at most says


class Wish(NamedTuple):
    """Columns, what they cost, and the least that they can be where placements have certain values."""

    columns: IntColumn
    costs: npt.ArrayLike
    least: Callable[[FloatColumn], FloatColumn]


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
            found[wish.columns] = wish.costs
        return found

    def complete(self, values: FloatColumn) -> FloatColumn:
        """Return the values of a solution with those of the wishes' columns."""
        found = np.concatenate((values, np.zeros(self._model.program.columns - len(values))))
        for wish in self._wishes:
            found[wish.columns] = wish.least(values)
        return found


def _packed(model: Model) -> Iterator[Wish]:
    problem = model.problem
    # More than all placements can cost otherwise, so that no host is opened to spare anything but another.
    dear = 1.0 + EVEN * len(model.hosts) + SOFT * sum(sum(kind.sizes) for kind in problem.kinds)
    dear += sum(float(kind.weight * kind.cost.max(initial=0.0)) * sum(kind.sizes) for kind in problem.kinds)
    yield _used(model, problem.empty, range(len(problem.kinds)), dear)


def _spread(model: Model) -> Iterator[Wish]:
    kinds = model.problem.kinds
    weights = [kind.weight for kind in kinds]
    mean = float(np.mean(weights))
    given, curve = model.program.real(len(model.hosts)), model.program.real(len(model.hosts))
    parts = [(kind.hosts, placed, -kind.weight) for kind, placed in zip(kinds, model.placed, strict=True)]
    model.program.rows([(model.hosts, given, 1.0), *parts], least=np.zeros(len(given)), most=0.0)
    reach = np.zeros(len(given))
    for kind in kinds:
        reach[kind.hosts] += kind.weight * kind.most
    chords = list(_chords(mean, float(reach.max(initial=0.0))))
    for left, slope, drop in chords:
        reached = np.flatnonzero(reach > left)
        rows = np.arange(len(reached))
        model.program.rows(
            [(rows, curve[reached], 1.0), (rows, given[reached], -slope)], least=np.full(len(rows), -drop)
        )

    def height(values: FloatColumn) -> FloatColumn:
        weight = model.sums(values, weights)
        return np.max([np.zeros(len(weight)), *(slope * weight - drop for _, slope, drop in chords)], axis=0)

    yield Wish(given, 0.0, lambda values: model.sums(values, weights))
    yield Wish(curve, 1.0, height)


def _even(model: Model) -> Iterator[Wish]:
    problem = model.problem
    capacity = np.maximum(problem.capacity, 1).astype(np.float64)
    skew = model.program.real(len(model.hosts))
    for more, less in itertools.permutations(range(capacity.shape[1]), 2):
        both = (problem.capacity[:, more] > 0) & (problem.capacity[:, less] > 0)
        row = np.cumsum(both) - 1
        parts = [(row[both], skew[both], 1.0)]
        for kind, placed in zip(problem.kinds, model.placed, strict=True):
            its = both[kind.hosts]
            hosts = kind.hosts[its]
            factors = kind.amounts[more] / capacity[hosts, more] - kind.amounts[less] / capacity[hosts, less]
            parts.append((row[hosts], placed[its], factors))
        shares = problem.free / capacity
        model.program.rows(parts, least=(shares[:, more] - shares[:, less])[both])

    def least(values: FloatColumn) -> FloatColumn:
        amounts = [kind.amounts for kind in problem.kinds]
        taken = [model.sums(values, [each[number] for each in amounts]) for number in range(capacity.shape[1])]
        shares = (problem.free - np.transpose(taken)) / capacity
        highest = np.where(problem.capacity > 0, shares, -np.inf).max(axis=1, initial=-np.inf)
        lowest = np.where(problem.capacity > 0, shares, np.inf).min(axis=1, initial=np.inf)
        return np.maximum(0.0, highest - lowest)

    yield Wish(skew, EVEN, least)


def _apart(model: Model, rule: Rule) -> Iterator[Wish]:
    spare = np.maximum(0, 1 - rule.held)
    beyond = model.program.real(len(model.hosts))
    parts = [(model.problem.kinds[number].hosts, model.placed[number], -1.0) for number in rule.kinds]
    model.program.rows([(model.hosts, beyond, 1.0), *parts], least=-spare.astype(np.float64))
    ones = [1.0] * len(model.placed)
    # Beside many each one more is worse than beside one.
    yield Wish(
        beyond,
        SOFT * np.maximum(1, rule.held),
        lambda values: np.maximum(0.0, model.sums(values, ones, rule.kinds) - spare),
    )


def _close(model: Model, rule: Rule) -> Iterator[Wish]:
    yield _used(model, rule.held == 0, rule.kinds, SOFT)  # where members are already is as close as can be


def _used(model: Model, which: npt.NDArray[np.bool_], numbers: Sequence[int], cost: float) -> Wish:
    """Have a column for each host of ``which`` that is 1 where it gets a placement of one of these kinds."""
    used = model.program.whole(np.ones(int(which.sum())))
    place = np.cumsum(which) - 1
    for number in numbers:
        kind = model.problem.kinds[number]
        its = which[kind.hosts]
        rows = np.arange(int(its.sum()))
        model.program.rows(
            [(rows, model.placed[number][its], 1.0), (rows, used[place[kind.hosts[its]]], -kind.most[its])],
            most=np.zeros(len(rows)),
        )
    ones = [1.0] * len(model.placed)
    return Wish(used, cost, lambda values: (model.sums(values, ones, numbers)[which] > 0).astype(np.float64))


def _chords(mean: float, reach: float) -> Iterator[tuple[float, float, float]]:
    """Yield the chords of W * W / 2 as where they begin, their slopes, and how far below 0 they meet the axis."""
    for left, right in itertools.pairwise(CORNERS):
        if left and left * mean >= reach:
            return
        yield left * mean, mean * (left + right) / 2, mean * mean * left * right / 2
