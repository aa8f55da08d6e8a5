# SPDX-License-Identifier: Apache-2.0
"""Spreading of identical instances over the best hosts, without weighing all hosts again."""

import bisect
from collections.abc import Sequence

import numpy as np

from scheduler_svc.core.drivers.driver import max_candidates
from scheduler_svc.core.drivers.random_choice import Rows, SeededRandom
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, IntColumn
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import total_resources
from scheduler_svc.core.weighers.server_group import count_members

ROUNDING = 1e-9  # rounding error of scores, relative to a step


def instance_capacity(view: View, request: SchedulingRequest, rows: Rows, filters: Sequence[Filter] = ()) -> IntColumn:
    """Estimate how many more instances each row takes, at least 1. Trees are added up and may take fewer."""
    capacities = np.full(len(rows), request.max_instances_per_host or np.iinfo(np.int64).max, np.int64)
    if request.max_instances_per_host and request.decision.members:
        capacities -= count_members(view, request).take(rows).astype(np.int64)
    for resource_class, amount in total_resources(request).items():
        np.minimum(capacities, (_free(view, resource_class).take(rows) // amount).astype(np.int64), out=capacities)
    for host_filter in filters:
        if host_filter.remaining_instances is not None:
            remaining = host_filter.remaining_instances(view, request).take(rows)
            np.minimum(capacities, remaining.astype(np.int64), out=capacities)
    capacities = np.maximum(capacities, 1)
    if view.instance_limits:
        limits = np.array([view.instance_limits.get(row, -1) for row in rows.tolist()])
        capacities = np.where(limits > 0, np.minimum(capacities, limits), capacities)
    return capacities


def _free(view: View, resource_class: str) -> FloatColumn:
    trees = view.trees
    return view.hosts.free(resource_class) if trees.are_flat else trees.sum(ProviderColumns.available, resource_class)


def spread(
    scores: Sequence[float],
    capacities: Sequence[int],
    *,
    steps: Sequence[float],
    count: int,
    subset: int,
    random: SeededRandom,
    draws_near: bool = False,
) -> tuple[list[list[int]], list[int]]:
    """Return, per instance, indexes into ``scores`` and the number of near candidates.

    An instance gets up to ``max_candidates(count)`` indexes. Both lists are empty if the hosts cannot take all
    instances. Near candidates score at least as well as the first candidate would with one more instance. With
    ``draws_near`` they are counted, and each instance draws different ones, so that workers try different hosts.

    Args:
        scores: Best first.
        steps: Change of each host's score by one instance, usually negative.
        capacities: Number of instances that each host takes.
        subset: Number of leading hosts from which the first candidate is drawn.
    """
    queue = [(-score, index) for index, score in enumerate(scores)]
    remaining = list(capacities)
    choices: list[list[int]] = []
    nears: list[int] = []
    alternate_count = max_candidates(count) - 1
    for _ in range(count):
        if not queue:
            return [], []
        value, index = queue.pop(random.random_index(min(subset, len(queue))))
        alternates = queue[:alternate_count]
        if draws_near:
            near = bisect.bisect(queue, (value + abs(steps[index]) * (1 + ROUNDING), len(scores)))
            if near > alternate_count:
                alternates = [queue[rank] for rank in sorted(random.draw(np.arange(near), alternate_count).tolist())]
            nears.append(1 + min(near, alternate_count))
        choices.append([index, *(other for _, other in alternates)])
        remaining[index] -= 1
        if remaining[index]:
            bisect.insort(queue, (value - steps[index], index))
    return choices, nears


def separate_alternates(choices: Sequence[Sequence[int]], others: Sequence[int]) -> list[list[int]]:
    """Prefer alternates from ``others`` that are no instance's first host, because the instances exclude each other."""
    firsts = {order[0] for order in choices}
    unused = [index for index in others if index not in firsts]
    limit = max_candidates(len(choices))
    alternate_count = min(limit - 1, len(unused))
    separated = []
    for number, order in enumerate(choices):
        alternates = [unused[(number + offset) % len(unused)] for offset in range(alternate_count)]
        separated.append(list(dict.fromkeys([order[0], *alternates, *order]))[:limit])
    return separated
