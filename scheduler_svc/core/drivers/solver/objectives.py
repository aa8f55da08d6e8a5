# SPDX-License-Identifier: Apache-2.0
"""Soft objectives: preferences among solutions that serve equally many calls.

- Score: a placement costs its weight times the difference between the best host's score and its host's score.
- Packing: opening an empty host costs more than all other objectives together.
- Spreading: a host with placements of total weight W costs W * W / 2, the integral of a cost that grows with each
  placement. Chords approximate it.
- Evenness: a host costs the difference between the free shares of its classes, because running out of one class strands
  the others.
- Soft server groups: each member that violates the policy costs.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.drivers.solver.model import MipModel
from scheduler_svc.core.drivers.solver.problem import GroupRule
from scheduler_svc.core.table.columns import FloatColumn, IntColumn

CORNERS = (0, 1, 2, 3, 4, 6, 9, 14, 24, 48)  # ends of the chords, in placements of mean weight
EVENNESS_COST = 1.0  # of a host with one class free and another used up, in units of scores
SOFT_GROUP_COST = 1.0  # of a member that violates its soft policy, relative to a weigher's maximum


class SoftObjective(NamedTuple):
    """Columns with costs. ``minimum`` computes the smallest values of the columns that given placements allow."""

    columns: IntColumn
    costs: npt.ArrayLike
    minimum: Callable[[FloatColumn], FloatColumn]


class SoftObjectives:
    """Soft objectives of a model. Create them after the hard constraints."""

    def __init__(self, model: MipModel, packs: bool) -> None:
        self._model = model
        self._objectives = [*(_packing(model) if packs else _spreading(model)), *_evenness(model)]
        for rule in model.problem.rules:
            if rule.max_members is None:
                self._objectives.append(
                    _soft_anti_affinity(model, rule)
                    if rule.anti_affinity
                    else _used_hosts(model, rule.member_counts == 0, rule.kinds, SOFT_GROUP_COST)
                )

    def costs(self) -> FloatColumn:
        costs_by_column = np.zeros(self._model.program.columns)
        for kind, columns in zip(self._model.problem.kinds, self._model.placement_columns, strict=True):
            costs_by_column[columns] = kind.cost * kind.weight
        for objective in self._objectives:
            costs_by_column[objective.columns] = objective.costs
        return costs_by_column

    def complete(self, values: FloatColumn) -> FloatColumn:
        completed = np.concatenate((values, np.zeros(self._model.program.columns - len(values))))
        for objective in self._objectives:
            completed[objective.columns] = objective.minimum(values)
        return completed


def _packing(model: MipModel) -> Iterator[SoftObjective]:
    problem = model.problem
    # More than all other costs together: opening a host only pays off if another stays closed.
    host_cost = (
        1.0 + EVENNESS_COST * len(model.hosts) + SOFT_GROUP_COST * sum(sum(kind.sizes) for kind in problem.kinds)
    )
    host_cost += sum(float(kind.weight * kind.cost.max(initial=0.0)) * sum(kind.sizes) for kind in problem.kinds)
    yield _used_hosts(model, problem.empty, range(len(problem.kinds)), host_cost)


def _spreading(model: MipModel) -> Iterator[SoftObjective]:
    kinds = model.problem.kinds
    weights = [kind.weight for kind in kinds]
    mean = float(np.mean(weights))
    weight_columns, cost_columns = model.program.add_reals(len(model.hosts)), model.program.add_reals(len(model.hosts))
    parts = [(kind.hosts, columns, -kind.weight) for kind, columns in zip(kinds, model.placement_columns, strict=True)]
    model.program.add_rows([(model.hosts, weight_columns, 1.0), *parts], lower=np.zeros(len(weight_columns)), upper=0.0)
    max_weights = np.zeros(len(weight_columns))
    for kind in kinds:
        max_weights[kind.hosts] += kind.weight * kind.max_per_host
    chords = list(_chords(mean, float(max_weights.max(initial=0.0))))
    for start, slope, drop in chords:
        affected = np.flatnonzero(max_weights > start)
        rows = np.arange(len(affected))
        model.program.add_rows(
            [(rows, cost_columns[affected], 1.0), (rows, weight_columns[affected], -slope)],
            lower=np.full(len(rows), -drop),
        )

    def height(values: FloatColumn) -> FloatColumn:
        weight = model.sums(values, weights)
        highest: FloatColumn = np.max(
            [np.zeros(len(weight)), *(slope * weight - drop for _, slope, drop in chords)], axis=0
        )
        return highest

    yield SoftObjective(weight_columns, 0.0, lambda values: model.sums(values, weights))
    yield SoftObjective(cost_columns, 1.0, height)


def _evenness(model: MipModel) -> Iterator[SoftObjective]:
    problem = model.problem
    capacity = np.maximum(problem.capacity, 1).astype(np.float64)
    skew_columns = model.program.add_reals(len(model.hosts))
    for more, less in itertools.permutations(range(capacity.shape[1]), 2):
        both = (problem.capacity[:, more] > 0) & (problem.capacity[:, less] > 0)
        row = np.cumsum(both) - 1
        parts = [(row[both], skew_columns[both], 1.0)]
        for kind, columns in zip(problem.kinds, model.placement_columns, strict=True):
            has_both = both[kind.hosts]
            hosts = kind.hosts[has_both]
            factors = kind.amounts[more] / capacity[hosts, more] - kind.amounts[less] / capacity[hosts, less]
            parts.append((row[hosts], columns[has_both], factors))
        shares = problem.free / capacity
        model.program.add_rows(parts, lower=(shares[:, more] - shares[:, less])[both])

    def minimum(values: FloatColumn) -> FloatColumn:
        amounts = [kind.amounts for kind in problem.kinds]
        used = [
            model.sums(values, [kind_amounts[number] for kind_amounts in amounts])
            for number in range(capacity.shape[1])
        ]
        shares = (problem.free - np.transpose(used)) / capacity
        highest = np.where(problem.capacity > 0, shares, -np.inf).max(axis=1, initial=-np.inf)
        lowest = np.where(problem.capacity > 0, shares, np.inf).min(axis=1, initial=np.inf)
        spans: FloatColumn = np.maximum(0.0, highest - lowest)
        return spans

    yield SoftObjective(skew_columns, EVENNESS_COST, minimum)


def _soft_anti_affinity(model: MipModel, rule: GroupRule) -> SoftObjective:
    free_slots = np.maximum(0, 1 - rule.member_counts)
    excess_columns = model.program.add_reals(len(model.hosts))
    parts = [(model.problem.kinds[number].hosts, model.placement_columns[number], -1.0) for number in rule.kinds]
    model.program.add_rows([(model.hosts, excess_columns, 1.0), *parts], lower=-free_slots.astype(np.float64))
    factors = [1.0] * len(model.placement_columns)
    return SoftObjective(
        excess_columns,
        SOFT_GROUP_COST * np.maximum(1, rule.member_counts),
        lambda values: np.maximum(0.0, model.sums(values, factors, rule.kinds) - free_slots),
    )


def _used_hosts(
    model: MipModel, candidate_hosts: npt.NDArray[np.bool_], numbers: Sequence[int], cost: float
) -> SoftObjective:
    """Add a column per candidate host: 1 if the host gets a placement of the kinds ``numbers``."""
    used_columns = model.program.add_integers(np.ones(int(candidate_hosts.sum())))
    positions = np.cumsum(candidate_hosts) - 1
    for number in numbers:
        kind = model.problem.kinds[number]
        is_candidate = candidate_hosts[kind.hosts]
        rows = np.arange(int(is_candidate.sum()))
        model.program.add_rows(
            [
                (rows, model.placement_columns[number][is_candidate], 1.0),
                (rows, used_columns[positions[kind.hosts[is_candidate]]], -kind.max_per_host[is_candidate]),
            ],
            upper=np.zeros(len(rows)),
        )
    factors = [1.0] * len(model.placement_columns)
    return SoftObjective(
        used_columns,
        cost,
        lambda values: (model.sums(values, factors, numbers)[candidate_hosts] > 0).astype(np.float64),
    )


def _chords(mean: float, max_weight: float) -> Iterator[tuple[float, float, float]]:
    """Yield the chords of W * W / 2 as (start, slope, negated intercept)."""
    for left, right in itertools.pairwise(CORNERS):
        if left and left * mean >= max_weight:
            return
        yield left * mean, mean * (left + right) / 2, mean * mean * left * right / 2
