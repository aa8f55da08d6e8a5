# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with more free memory; with a negative multiplier, with less."""

from os_resource_classes import MEMORY_MB

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the free memory of each row and the providers below it."""
    return view.trees.free(MEMORY_MB)


def step(request: SchedulingRequest) -> float:
    """Return the change per instance: minus the requested amount."""
    return -request.resources.get(MEMORY_MB, 0)


WEIGHER = Weigher(
    "RAMWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    floor=0.0,
)
