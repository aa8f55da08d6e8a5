# SPDX-License-Identifier: Apache-2.0
"""Hosts of the partition that an instance moves from first: a move within it is the cheaper one."""

import numpy as np

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn | None:
    """Return 1 for rows of that partition and -1 for others."""
    if request.source_partition is None:
        return None
    return np.where(view.within(request.source_partition), 1.0, -1.0)


def step(request: Request) -> float:
    """Return 0: instances do not change it."""
    return 0.0


WEIGHER = Weigher("CrossCellWeigher", raw, step, option="cross_cell_move_weight_multiplier")
