# SPDX-License-Identifier: Apache-2.0
"""Weighers of reported counts: instances, running builds and moves, failed builds."""

import numpy as np

from scheduler_svc.core.reads import INSTANCES, IO_OPS
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher, unchanged

FAILED_BUILDS = "metrics.failed_builds"
IMAGE = "metrics.image."  # prefix of "<property>=<value>": number of instances with this image property


def count(view: View, key: str) -> FloatColumn:
    """Return metric ``key`` per row; 0 if missing or negative."""
    return np.fmax(view.state("compute", key), 0.0)


def _build(name: str, key: str, *, adds_one: bool = True, sign: int = 1, floor: float | None = None) -> Weigher:
    def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
        values = count(view, key)
        return values if values.any() else None

    step = (lambda request: 1.0) if adds_one else unchanged
    return Weigher(name, raw, step, {"compute": frozenset({key})}, sign=sign, floor=floor)


INSTANCES_WEIGHER = _build("NumInstancesWeigher", INSTANCES)
IO_OPS_WEIGHER = _build("IoOpsWeigher", IO_OPS, floor=0.0)
# The multiplier is the penalty per failure since the last successful build. New instances are expected to succeed.
BUILD_FAILURE_WEIGHER = _build("BuildFailureWeigher", FAILED_BUILDS, adds_one=False, sign=-1)
