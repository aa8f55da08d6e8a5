# SPDX-License-Identifier: Apache-2.0
"""Many alike instances over the best hosts, one after the other, without weighing all hosts again."""

import bisect
from collections.abc import Sequence

import numpy as np

from scheduler_svc.candidates.wanted import demand
from scheduler_svc.drivers.driver import width
from scheduler_svc.drivers.lot import Lot, Rows
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn, IntColumn
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View


def room(view: View, request: Request, rows: Rows) -> IntColumn:
    """Return how many more instances each of ``rows`` takes by its free amounts and the group's policy.

    At least 1: whether a row takes one at all has been the filters' affair. Of a tree it may be fewer than its amounts
    in sum let hope, which ``view.most`` tells where it was found out.
    """
    most = np.full(len(rows), request.most_per_host or np.iinfo(np.int64).max, np.int64)
    for resource_class, amount in demand(request).items():
        np.minimum(most, (_free(view, resource_class).take(rows) // amount).astype(np.int64), out=most)
    most = np.maximum(most, 1)
    if view.most:
        limits = np.array([view.most.get(row, -1) for row in rows.tolist()])
        most = np.where(limits > 0, np.minimum(most, limits), most)
    return most


def _free(view: View, resource_class: str) -> FloatColumn:
    trees = view.trees
    return view.free(resource_class) if trees.are_flat else trees.sum(Providers.left, resource_class)


def spread(
    scores: Sequence[float], most: Sequence[int], *, steps: Sequence[float], count: int, subset: int, lot: Lot
) -> list[list[int]]:
    """Return for each of ``count`` instances up to ``width(count)`` indexes into ``scores``, best first.

    ``scores`` come best first. A host that is given an instance changes its score by its one of ``steps`` and leaves
    when it holds its ``most``. ``subset`` is how many of the best each choice is drawn from. An empty list is returned
    where the hosts do not take all.
    """
    line = [(-score, index) for index, score in enumerate(scores)]
    left = list(most)
    given = []
    others = width(count) - 1
    for _ in range(count):
        if not line:
            return []
        value, index = line.pop(lot.below(min(subset, len(line))))
        given.append([index, *(other for _, other in line[:others])])
        left[index] -= 1
        if left[index]:
            bisect.insort(line, (value - steps[index], index))
    return given
