# SPDX-License-Identifier: Apache-2.0
"""The part that the weighers of free CPUs, memory and disk share."""

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def build(name: str, resource_class: str) -> Weigher:
    """Return the weigher of the free amount of each row and the providers below it."""

    def raw(view: View, request: SchedulingRequest) -> FloatColumn:
        return view.trees.free(resource_class)

    def step(request: SchedulingRequest) -> float:
        return -request.resources.get(resource_class, 0)

    return Weigher(name, raw, step, {"compute": frozenset({"inventories", "used"})}, floor=0.0)
