# SPDX-License-Identifier: Apache-2.0
"""Hosts with few free PCI devices first: who needs none leaves them alone, who needs some fills up where few are."""

import numpy as np

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

PREFIX = "CUSTOM_PCI_"  # of the resource classes that devices are kept in
MOST = 100.0  # as in Nova: a host with more devices is no better supplied than one with this many


def raw(view: View, request: Request) -> FloatColumn | None:
    """Return 100 less the free devices of each row's tree, at least 1."""
    classes = [name for name in view.classes if name.startswith(PREFIX)]
    if not classes:
        return None
    free = sum((view.tree_free(name) for name in classes), np.zeros(view.size, np.float64))
    return MOST - np.minimum(free, MOST - 1)


def step(request: Request) -> float:
    """Return how many devices an instance takes."""
    groups = (request.resources, *(group.resources for group in request.groups))
    return float(sum(amount for each in groups for name, amount in each.items() if name.startswith(PREFIX)))


WEIGHER = Weigher(
    "PCIWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    option="pci_weight_multiplier",
)
