# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts in the source partition of a move, since moves within a partition are cheaper."""

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return 1 for rows of the source partition and -1 for others; None if the request is not a move."""
    if request.source_partition is None:
        return None
    return np.where(view.partitions.members(request.source_partition), 1.0, -1.0)


def step(request: SchedulingRequest) -> float:
    """Return 0: instances do not change the value."""
    return 0.0


WEIGHER = Weigher("CrossCellWeigher", raw, step)
