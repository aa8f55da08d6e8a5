# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts with larger free shares of CPU and memory, and with more equal ones.

As in Kubernetes (NodeResourcesLeastAllocated), equal servers spread evenly over equal hosts, and over unequal hosts in
proportion to their size. Weighing free amounts would fill the largest host first. Unequal shares strand the larger one.
That matters little on an empty host, so their cost is the difference between the squares of the used shares. See ADR
0295.
"""

import numpy as np
from os_resource_classes import MEMORY_MB, VCPU

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import total_resources
from scheduler_svc.core.weighers.weigher import Weigher

CLASSES = (VCPU, MEMORY_MB)
COST = 6.0  # Cost, in free shares, of a host with one class used up and the other unused.


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the sum of each tree's free shares after one more instance, minus the cost of unequal ones."""
    return _value(view, request, 1, slice(None))


def row_steps(view: View, request: SchedulingRequest, rows: Rows) -> FloatColumn:
    """Return the change of each row's value by a second instance, at most minus the shares that it takes.

    The limit is needed because a later instance may no longer make unequal shares more equal.
    """
    amounts = _weighed_amounts(request)
    shares_taken = [amount * view.trees.unit_share(name)[rows] for name, amount in amounts.items()]
    change = _value(view, request, 2, rows) - _value(view, request, 1, rows)
    return np.minimum(change, -np.sum(shares_taken, axis=0, dtype=np.float64))


def _value(view: View, request: SchedulingRequest, instances: int, rows: Rows | slice) -> FloatColumn:
    trees, amounts = view.trees, _weighed_amounts(request)
    free_shares = []
    for resource_class, amount in amounts.items():
        share = trees.free(resource_class)[rows] - instances * amount
        share *= trees.unit_share(resource_class)[rows]
        free_shares.append(share)
    if amounts.keys() != set(CLASSES):
        return sum(free_shares, np.zeros(view.size)[rows])
    cpu, memory = free_shares
    cost = cpu - memory
    left = np.add(cpu, memory, out=cpu)  # In place: an allocation costs as much as the arithmetic.
    cost *= np.subtract(2.0, left, out=memory)  # u² - v² = (u - v)(u + v), where u = 1 - cpu and v = 1 - memory
    np.abs(cost, out=cost)
    lacking = view.aggregates.get_or_compute("without CPU or memory", lambda: _find_lacking(view))
    if lacking is not None:
        cost[lacking[rows]] = 0.0
    cost *= COST
    left -= cost
    return left


def _find_lacking(view: View) -> Column | None:
    """Return a mask of the hosts that lack CPU or memory, and so pay nothing for unequal shares, or None."""
    lacking: Column = np.minimum(*(view.trees.unit_share(name) for name in CLASSES)) == 0
    return lacking if lacking.any() else None


def _weighed_amounts(request: SchedulingRequest) -> Amounts:
    """Return the amounts of CPU and memory, or all amounts if the request uses neither."""
    amounts = total_resources(request)
    if amounts.keys().isdisjoint(CLASSES):
        return amounts
    return {resource_class: amounts.get(resource_class, 0) for resource_class in CLASSES}


WEIGHER = Weigher(
    "FreeShareWeigher",
    raw,
    reads={"compute": frozenset({"inventories", "used"})},
    row_steps=row_steps,  # an instance takes a different share of each host
    floor=-COST,
)
