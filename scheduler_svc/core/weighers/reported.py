# SPDX-License-Identifier: Apache-2.0
"""Counts that agents report as metrics."""

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

IO_OPS = "metrics.io_ops"
INSTANCES = "metrics.instances"
FAILED_BUILDS = "metrics.failed_builds"
IMAGE = "metrics.image."  # followed by "<property>=<value>": number of instances with this image property


def count(view: View, key: str) -> FloatColumn:
    """Return the metric ``key`` of each row; 0 if it is missing or negative."""
    return np.fmax(view.state("compute", key), 0.0)


def build(name: str, key: str, floor: float | None = None) -> Weigher:
    """Return the weigher of a count to which each instance of the request adds one."""

    def raw(view: View, request: SchedulingRequest) -> FloatColumn:
        return count(view, key)

    def step(request: SchedulingRequest) -> float:
        return 1.0

    return Weigher(name, raw, step, {"compute": frozenset({key})}, floor=floor)
