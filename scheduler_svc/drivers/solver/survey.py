# SPDX-License-Identifier: Apache-2.0
"""The hosts as a problem: which of them each kind of call may have, how good they are, and what is free there.

A kind is given as many of its best hosts as the whole batch has placements, or more. So one that no other call of the
batch needs is always among them, and whatever could be served on all hosts can be served on these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rpcapi.model.claims import GroupPolicy
from scheduler_svc.drivers.driver import Ranking
from scheduler_svc.drivers.lot import Lot, Rows
from scheduler_svc.drivers.solver.alike import Alike
from scheduler_svc.drivers.solver.problem import Kind, Problem, Rule
from scheduler_svc.drivers.top import best
from scheduler_svc.filters import pipeline
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import scoring

SCATTERED = "hosts that have it in parts"
NOTHING = Problem(np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), ())


@dataclass(frozen=True, slots=True)
class Pick:
    """The rows that one kind may have, best first, with their scores and by how much a placement changes them."""

    alike: Alike
    rows: Rows
    scores: FloatColumn
    weight: float
    left: pipeline.Survivors


@dataclass(frozen=True, slots=True)
class Survey:
    """The problem, the names of its hosts, and for each of its kinds the pick that it was made from.

    ``refused`` has the rankings of calls that no host takes, ``scattered`` counts calls that are left to be decided by
    themselves.
    """

    problem: Problem
    names: Sequence[str]
    picks: Sequence[Pick]
    refused: Mapping[int, Ranking] = field(default_factory=dict)
    scattered: int = 0


def look(
    view: View, kinds: Sequence[Alike], filters: Sequence[Filter], weighted: scoring.Weighted, least: int
) -> Survey:
    """Filter and weigh all hosts for each kind, and keep at least ``least`` of the best where there are so many."""
    needed = sum(sum(alike.sizes) for alike in kinds)
    picks: list[Pick] = []
    refused: dict[int, Ranking] = {}
    scattered = 0
    for alike in kinds:
        left = pipeline.run(filters, view, alike.request)
        if not left.left:
            refused |= dict.fromkeys(alike.calls, Ranking((), left.hosts, left.reasons))
            continue
        pick = _pick(view, alike, left, weighted, needed=needed, least=least)
        if pick is None:
            scattered += len(alike.calls)
        else:
            picks.append(pick)
    rows = np.unique(np.concatenate([pick.rows for pick in picks])) if picks else np.zeros(0, np.intp)
    names = [view.name(row) for row in rows.tolist()]
    return Survey(_problem(view, rows, names, picks), names, picks, refused, scattered)


def _pick(
    view: View, alike: Alike, left: pipeline.Survivors, weighted: scoring.Weighted, *, needed: int, least: int
) -> Pick | None:
    """Return the best hosts that take a placement; None where too few are sure to be among them."""
    trees = view.trees
    passes = left.passes.copy() if trees.are_flat else left.passes & ~trees.branched
    for name, amount in alike.amounts.items():
        passes &= view.free(name) >= amount
    rows = np.flatnonzero(passes)
    if alike.unit == 1 and len(rows) < min(needed, left.left):
        return None
    if not len(rows):
        return Pick(alike, rows, np.zeros(0), 1.0, left)
    scores = scoring.score(weighted, view, alike.request, rows)
    top = best(scores.values, max(needed, least), Lot(alike.seed))
    weight = abs(float(np.mean(scores.steps(top)))) * alike.unit or _share(view, alike, rows[top])
    return Pick(alike, rows[top], scores.values[top], weight, left)


def _share(view: View, alike: Alike, rows: Rows) -> float:
    """Return what a placement takes of a host in the mean: its weight where no weigher sees it."""
    shares = [np.mean(amount / np.maximum(1, view.capacity(name)[rows])) for name, amount in alike.amounts.items()]
    return float(np.mean(shares))


def _problem(view: View, rows: Rows, names: Sequence[str], picks: Sequence[Pick]) -> Problem:
    classes = sorted({name for pick in picks for name in pick.alike.amounts})
    free = np.zeros((len(rows), len(classes)), np.int64)
    capacity = np.zeros_like(free)
    for number, name in enumerate(classes):
        free[:, number] = view.free(name)[rows]
        capacity[:, number] = view.capacity(name)[rows]
    kinds = tuple(_kind(pick, classes, free, np.searchsorted(rows, pick.rows)) for pick in picks)
    return Problem(free, capacity, kinds, tuple(_rules(picks, names)))


def _kind(pick: Pick, classes: Sequence[str], free: np.ndarray, hosts: Rows) -> Kind:
    wanted = pick.alike.amounts
    amounts = np.array([wanted.get(name, 0) for name in classes], np.int64)
    most = np.full(len(hosts), sum(pick.alike.sizes), np.int64)
    for number in np.flatnonzero(amounts):
        np.minimum(most, free[hosts, number] // amounts[number], out=most)
    cost = pick.scores.max(initial=-np.inf) - pick.scores
    return Kind(amounts, hosts, most, cost, pick.alike.calls, pick.alike.sizes, pick.weight)


def _rules(picks: Sequence[Pick], names: Sequence[str]) -> Sequence[Rule]:
    """Return a rule for each server group; one whose members stay together is a kind of its own, and needs none."""
    kinds: dict[str, list[int]] = {}
    for number, pick in enumerate(picks):
        group = pick.alike.request.group
        if group is not None and not pick.alike.request.together:
            kinds.setdefault(group.id, []).append(number)
    rules = []
    for numbers in kinds.values():
        requests = [picks[number].alike.request for number in numbers]
        held = np.array([requests[0].members.get(name, 0) for name in names], np.int64)
        limits = [request.most_per_host for request in requests if request.most_per_host is not None]
        apart = requests[0].group is not None and requests[0].group.policy == GroupPolicy.SOFT_ANTI_AFFINITY
        rules.append(Rule(tuple(numbers), held, min(limits, default=None), apart))
    return rules
