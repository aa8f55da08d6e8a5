# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with larger free shares of CPU and memory; with a negative multiplier, smaller ones.

As in Kubernetes (NodeResourcesLeastAllocated), equal servers are spread evenly over equal hosts, and over unequal hosts
in proportion to size. Weighing free amounts would fill the largest host first. See ADR 0295.
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
    """Return each tree's sum of free shares after one instance."""
    left = np.zeros(view.size, np.float64)
    for resource_class, amount in _weighed_amounts(request).items():
        share = view.trees.free(resource_class) - amount
        share *= view.trees.unit_share(resource_class)
        left += share
    return left


def row_steps(view: View, request: SchedulingRequest, rows: Rows) -> FloatColumn:
    """Return the change of the sum by a further instance, per row."""
    shares = np.zeros(len(rows), np.float64)
    for resource_class, amount in _weighed_amounts(request).items():
        shares += amount * view.trees.unit_share(resource_class)[rows]
    return -shares


def _weighed_amounts(request: SchedulingRequest) -> Amounts:
    """Return the amounts of CPU and memory, or all amounts if the request takes neither."""
    amounts = total_resources(request)
    if amounts.keys().isdisjoint(CLASSES):
        return amounts
    return {resource_class: amounts.get(resource_class, 0) for resource_class in CLASSES}


WEIGHER = Weigher(
    "FreeShareWeigher",
    raw,
    reads={"compute": frozenset({"inventories", "used"})},
    row_steps=row_steps,  # the effect of another instance differs between hosts
    floor=0.0,
)
