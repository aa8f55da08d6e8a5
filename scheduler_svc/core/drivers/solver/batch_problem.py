# SPDX-License-Identifier: Apache-2.0
"""Placement problem of a batch: candidate hosts per kind of call, costs and free amounts.

Each kind gets at least as many of its best hosts as the batch has placements. One of these hosts stays free whatever
the other calls take, so the problem needs no further hosts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import Ranking
from scheduler_svc.core.drivers.random_choice import Rows, SeededRandom, top_indexes
from scheduler_svc.core.drivers.solver.identical_calls import IdenticalCalls
from scheduler_svc.core.drivers.solver.problem import CallKind, GroupRule, PlacementProblem
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import scoring

REASON_SCATTERED = "hosts that have it in parts"
EMPTY_PROBLEM = PlacementProblem(np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), ())


@dataclass(frozen=True, slots=True)
class HostPick:
    """Candidate rows of a kind of call, best first, with scores and a placement's weight."""

    call_group: IdenticalCalls
    rows: Rows
    scores: FloatColumn
    weight: float
    survivors: pipeline.Survivors


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """Placement problem, names of its hosts, and candidate hosts of each kind."""

    problem: PlacementProblem
    names: Sequence[str]
    picks: Sequence[HostPick]
    refused_rankings: Mapping[int, Ranking] = field(default_factory=dict)  # {call without a passing host: ranking}
    scattered_calls: int = 0  # number of calls to decide alone


def build_problem(
    view: View,
    kinds: Sequence[IdenticalCalls],
    filters: Sequence[Filter],
    weigher_set: scoring.WeigherSet,
    min_hosts: int,
) -> BatchProblem:
    needed = sum(sum(call_group.sizes) for call_group in kinds)
    picks: list[HostPick] = []
    refused_rankings: dict[int, Ranking] = {}
    scattered_calls = 0
    for call_group in kinds:
        survivors = pipeline.run(filters, view, call_group.request)
        if not survivors.count:
            refused_rankings |= dict.fromkeys(call_group.calls, Ranking((), survivors.hosts, survivors.reasons))
            continue
        pick = _pick(view, call_group, survivors, weigher_set, needed=needed, min_hosts=min_hosts)
        if pick is None:
            scattered_calls += len(call_group.calls)
        else:
            picks.append(pick)
    rows = np.unique(np.concatenate([pick.rows for pick in picks])) if picks else np.zeros(0, np.intp)
    names = [view.name(row) for row in rows.tolist()]
    return BatchProblem(_problem(view, rows, names, picks), names, picks, refused_rankings, scattered_calls)


def _pick(
    view: View,
    call_group: IdenticalCalls,
    survivors: pipeline.Survivors,
    weigher_set: scoring.WeigherSet,
    *,
    needed: int,
    min_hosts: int,
) -> HostPick | None:
    """Return the best hosts whose root provider alone fits a placement; None if a tree search might find more hosts."""
    trees = view.trees
    passes = survivors.passes.copy() if trees.are_flat else survivors.passes & ~trees.nested_hosts
    for name, amount in call_group.amounts.items():
        passes &= view.hosts.free(name) >= amount
    rows = np.flatnonzero(passes)
    if call_group.unit == 1 and len(rows) < min(needed, survivors.count):
        return None
    if not len(rows):
        return HostPick(call_group, rows, np.zeros(0), 1.0, survivors)
    scores = scoring.score(weigher_set, view, call_group.request, rows)
    top = top_indexes(scores.values, max(needed, min_hosts), SeededRandom(call_group.seed))
    weight = abs(float(np.mean(scores.steps(top)))) * call_group.unit or _share(view, call_group, rows[top])
    return HostPick(call_group, rows[top], scores.values[top], weight, survivors)


def _share(view: View, call_group: IdenticalCalls, rows: Rows) -> float:
    """Return the mean share of a host that a placement uses: its weight if no weigher changes."""
    shares = [
        np.mean(amount / np.maximum(1, view.hosts.capacity(name)[rows])) for name, amount in call_group.amounts.items()
    ]
    return float(np.mean(shares))


def _problem(view: View, rows: Rows, names: Sequence[str], picks: Sequence[HostPick]) -> PlacementProblem:
    classes = sorted({name for pick in picks for name in pick.call_group.amounts})
    free = np.zeros((len(rows), len(classes)), np.int64)
    capacity = np.zeros_like(free)
    for number, name in enumerate(classes):
        free[:, number] = view.hosts.free(name)[rows]
        capacity[:, number] = view.hosts.capacity(name)[rows]
    kinds = tuple(_kind(pick, classes, free, np.searchsorted(rows, pick.rows)) for pick in picks)
    return PlacementProblem(free, capacity, kinds, tuple(_rules(picks, names)))


def _kind(pick: HostPick, classes: Sequence[str], free: np.ndarray, hosts: Rows) -> CallKind:
    amounts_by_class = pick.call_group.amounts
    amounts = np.array([amounts_by_class.get(name, 0) for name in classes], np.int64)
    max_per_host = np.full(len(hosts), sum(pick.call_group.sizes), np.int64)
    for number in np.flatnonzero(amounts):
        np.minimum(max_per_host, free[hosts, number] // amounts[number], out=max_per_host)
    cost = pick.scores.max(initial=-np.inf) - pick.scores
    return CallKind(amounts, hosts, max_per_host, cost, pick.call_group.calls, pick.call_group.sizes, pick.weight)


def _rules(picks: Sequence[HostPick], names: Sequence[str]) -> Sequence[GroupRule]:
    """Return a rule per server group. Affinity groups need none: each of their calls is a kind of its own."""
    kinds: dict[str, list[int]] = {}
    for number, pick in enumerate(picks):
        group = pick.call_group.request.group
        if group is not None and not pick.call_group.request.is_affinity:
            kinds.setdefault(group.id, []).append(number)
    rules = []
    for numbers in kinds.values():
        requests = [picks[number].call_group.request for number in numbers]
        member_counts = np.array([requests[0].decision.members.get(name, 0) for name in names], np.int64)
        limits = [request.max_instances_per_host for request in requests if request.max_instances_per_host is not None]
        anti_affinity = requests[0].group is not None and requests[0].group.policy == GroupPolicy.SOFT_ANTI_AFFINITY
        rules.append(GroupRule(tuple(numbers), member_counts, min(limits, default=None), anti_affinity))
    return rules
