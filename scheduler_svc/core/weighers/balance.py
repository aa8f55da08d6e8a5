# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts whose free shares of CPU and memory become more equal.

Equal shares strand neither CPU nor memory. The imbalance of a host is the difference between the two shares. The weight
is how much an instance decreases the imbalance, not the imbalance that it leaves: of two hosts that it affects alike,
the balanced one is not preferred. Kubernetes scores what is left (NodeResourcesBalancedAllocation). See ADR 0295.
"""

import numpy as np
from os_resource_classes import MEMORY_MB, VCPU

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn, Rows
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import total_resources
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return how much an instance decreases the imbalance; None unless the request uses both classes."""
    if not total_resources(request).keys() >= {VCPU, MEMORY_MB}:
        return None
    imbalance, change = _imbalances(view, request)
    left = np.subtract(imbalance, change, out=change)  # In place: an allocation costs as much as the arithmetic.
    decrease = np.abs(imbalance, out=imbalance)
    decrease -= np.abs(left, out=left)
    return decrease


def row_steps(view: View, request: SchedulingRequest, rows: Rows) -> FloatColumn:
    """Return the decrease by a second instance minus the decrease by the first."""
    imbalance, change = _imbalances(view, request, rows)
    return 2 * np.abs(imbalance - change) - np.abs(imbalance) - np.abs(imbalance - 2 * change)


def _imbalances(
    view: View, request: SchedulingRequest, rows: Rows | slice = slice(None)
) -> tuple[FloatColumn, FloatColumn]:
    """Return, as new columns, the imbalance of ``rows`` and the part that one instance removes."""
    trees, amounts = view.trees, total_resources(request)
    cpu_share, memory_share = trees.unit_share(VCPU)[rows], trees.unit_share(MEMORY_MB)[rows]
    imbalance = trees.free(VCPU)[rows] * cpu_share
    imbalance -= trees.free(MEMORY_MB)[rows] * memory_share
    change = cpu_share * amounts[VCPU]
    change -= memory_share * amounts[MEMORY_MB]
    return imbalance, change


WEIGHER = Weigher(
    "BalanceWeigher",
    raw,
    reads={"compute": frozenset({"inventories", "used"})},
    row_steps=row_steps,  # an instance changes the imbalance of each host differently
)
