# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts where equal shares of CPUs and memory remain free, so that neither is stranded."""

import numpy as np
from os_resource_classes import MEMORY_MB, VCPU

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the negative difference of the two free shares; 0 where a row lacks one of the classes."""
    cpus, memory = view.hosts.capacity(VCPU), view.hosts.capacity(MEMORY_MB)
    shares = [
        (view.hosts.free(name) - request.resources.get(name, 0)) / np.maximum(capacity, 1)
        for name, capacity in ((VCPU, cpus), (MEMORY_MB, memory))
    ]
    return np.where((cpus > 0) & (memory > 0), -np.abs(shares[0] - shares[1]), 0.0)


def step(request: SchedulingRequest) -> float:
    """Return 0: the effect of another instance differs between hosts."""
    return 0.0


WEIGHER = Weigher(
    "BalanceWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
)
