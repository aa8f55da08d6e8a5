# SPDX-License-Identifier: Apache-2.0
"""Counts that agents report among their metrics."""

import numpy as np

from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View

IO_OPS = "metrics.io_ops"
INSTANCES = "metrics.instances"
FAILED_BUILDS = "metrics.failed_builds"
IMAGE = "metrics.image."  # then "<property>=<value>": instances whose image has it


def count(view: View, key: str) -> FloatColumn:
    """Return what each row reports under ``key``; 0 where it reports nothing, or less."""
    return np.fmax(view.state("compute", key), 0.0)
