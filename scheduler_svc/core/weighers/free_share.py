# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts with larger free shares of CPU and memory.

A negative multiplier prefers smaller shares. As in Kubernetes (NodeResourcesLeastAllocated), equal servers spread
evenly over equal hosts, and over unequal hosts in proportion to their size. Weighing free amounts would fill the
largest host first. See ADR 0295.
"""

import numpy as np
from os_resource_classes import MEMORY_MB, VCPU

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import total_resources
from scheduler_svc.core.weighers.weigher import Weigher

CLASSES = (VCPU, MEMORY_MB)


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the sum of each tree's free shares after one more instance."""
    left = np.zeros(view.size, np.float64)
    for resource_class, amount in _weighed_amounts(request).items():
        share = view.trees.free(resource_class) - amount
        share *= view.trees.unit_share(resource_class)
        left += share
    return left


def row_steps(view: View, request: SchedulingRequest, rows: Rows) -> FloatColumn:
    """Return how much a further instance changes each row's sum."""
    shares = np.zeros(len(rows), np.float64)
    for resource_class, amount in _weighed_amounts(request).items():
        shares += amount * view.trees.unit_share(resource_class)[rows]
    return -shares


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
    floor=0.0,
)
