# SPDX-License-Identifier: Apache-2.0
"""Weighs hosts by their number of instances; a negative multiplier prefers hosts with few."""

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import reported
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the number of instances that each row reports."""
    return reported.count(view, reported.INSTANCES)


def step(request: SchedulingRequest) -> float:
    """Return 1: each instance adds one."""
    return 1.0


WEIGHER = Weigher(
    "NumInstancesWeigher",
    raw,
    step,
    {"compute": frozenset({reported.INSTANCES})},
)
