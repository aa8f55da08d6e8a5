# SPDX-License-Identifier: Apache-2.0
"""Hosts with more free disk first; with a negative multiplier, fuller hosts first."""

from os_resource_classes import DISK_GB

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return the free disk of each row and what hangs below it."""
    return view.tree_free(DISK_GB)


def step(request: Request) -> float:
    """Return what an instance takes of it, as a change."""
    return -request.resources.get(DISK_GB, 0)


WEIGHER = Weigher(
    "DiskWeigher",
    raw,
    step,
    {"compute": frozenset({"inventories", "used"})},
    option="disk_weight_multiplier",
    floor=0.0,
)
