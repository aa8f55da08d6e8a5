# SPDX-License-Identifier: Apache-2.0
"""Hosts with more free processors first; with a negative multiplier, fuller hosts first."""

from os_resource_classes import VCPU

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return the free processors of each row and what hangs below it."""
    return view.tree_free(VCPU)


def step(request: Request) -> float:
    """Return what an instance takes of it, as a change."""
    return -request.resources.get(VCPU, 0)


WEIGHER = Weigher(
    "CPUWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    option="cpu_weight_multiplier",
    floor=0.0,
)
