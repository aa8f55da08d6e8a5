# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts in the source partition or cell, where moves are cheaper."""

import numpy as np

from scheduler_svc.core.namespaces.compute_node import CELL, NAMESPACE
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return 1 for rows in the source cell or partition, else -1; None without a move."""
    if request.source_cell is not None:
        return np.where(view.state_is(NAMESPACE, CELL, request.source_cell), 1.0, -1.0)
    if request.source_partition is None:
        return None
    return np.where(view.in_partition(request.source_partition), 1.0, -1.0)


WEIGHER = Weigher("CrossCellWeigher", raw, reads={NAMESPACE: frozenset({CELL})})
