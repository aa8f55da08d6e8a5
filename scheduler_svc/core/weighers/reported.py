# SPDX-License-Identifier: Apache-2.0
"""Counts that agents report as metrics."""

import numpy as np

from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View

IO_OPS = "metrics.io_ops"
INSTANCES = "metrics.instances"
FAILED_BUILDS = "metrics.failed_builds"
IMAGE = "metrics.image."  # followed by "<property>=<value>": number of instances with this image property


def count(view: View, key: str) -> FloatColumn:
    """Return the metric ``key`` of each row; 0 if it is missing or negative."""
    return np.fmax(view.state("compute", key), 0.0)
