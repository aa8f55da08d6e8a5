# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with more free disk; with a negative multiplier, with less."""

from os_resource_classes import DISK_GB

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the free disk of each row and the providers below it."""
    return view.trees.free(DISK_GB)


def step(request: SchedulingRequest) -> float:
    """Return the change per instance: minus the requested amount."""
    return -request.resources.get(DISK_GB, 0)


WEIGHER = Weigher(
    "DiskWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    floor=0.0,
)
