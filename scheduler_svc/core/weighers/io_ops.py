# SPDX-License-Identifier: Apache-2.0
"""Weighs hosts by their running builds and moves; with a negative multiplier, idle hosts are preferred."""

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import reported
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the number of operations that each row reports."""
    return reported.count(view, reported.IO_OPS)


def step(request: SchedulingRequest) -> float:
    """Return 1: each instance is a build."""
    return 1.0


WEIGHER = Weigher(
    "IoOpsWeigher",
    raw,
    step,
    {"compute": frozenset({reported.IO_OPS})},
    floor=0.0,
)
