# SPDX-License-Identifier: Apache-2.0
"""Hosts of which the request leaves as large a share of processors free as of memory: neither is stranded there."""

import numpy as np
from os_resource_classes import MEMORY_MB, VCPU

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return by how much the two shares would differ, below 0; 0 where a row itself has not both."""
    processors, memory = view.capacity(VCPU), view.capacity(MEMORY_MB)
    shares = [
        (view.free(name) - request.resources.get(name, 0)) / np.maximum(capacity, 1)
        for name, capacity in ((VCPU, processors), (MEMORY_MB, memory))
    ]
    return np.where((processors > 0) & (memory > 0), -np.abs(shares[0] - shares[1]), 0.0)


def step(request: Request) -> float:
    """Return 0: whether one more instance makes a host better or worse depends on the host."""
    return 0.0


WEIGHER = Weigher(
    "BalanceWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    option="balance_weight_multiplier",
)
