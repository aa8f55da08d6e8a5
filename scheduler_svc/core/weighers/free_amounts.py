# SPDX-License-Identifier: Apache-2.0
"""Weighers that prefer hosts with more free memory, CPUs or disk; with a negative multiplier, with less."""

from os_resource_classes import DISK_GB, MEMORY_MB, VCPU

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def _build(name: str, resource_class: str) -> Weigher:
    def raw(view: View, request: SchedulingRequest) -> FloatColumn:
        return view.trees.free(resource_class)

    def step(request: SchedulingRequest) -> float:
        return -request.resources.get(resource_class, 0)

    return Weigher(name, raw, step, {"compute": frozenset({"inventories", "used"})}, floor=0.0)


RAM = _build("RAMWeigher", MEMORY_MB)
CPU = _build("CPUWeigher", VCPU)
DISK = _build("DiskWeigher", DISK_GB)
