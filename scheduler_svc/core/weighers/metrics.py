# SPDX-License-Identifier: Apache-2.0
"""Weigher of reported metrics, summed as ratio * metric: Nova's MetricsWeigher."""

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.options import DEFAULTS, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

NAME = "MetricsWeigher"


def build(options: WeigherOptions = DEFAULTS) -> Weigher | None:
    weights = options.metrics
    if not weights.ratios:
        return None
    keys = {f"metrics.{name}": ratio for name, ratio in weights.ratios.items()}

    def raw(view: View, request: SchedulingRequest) -> FloatColumn:
        """Return the weighted sum of each row; ``unavailable`` if any of its metrics is missing."""
        values = np.zeros(view.size, np.float64)
        for key, ratio in keys.items():
            values += ratio * view.state("compute", key)
        return np.where(np.isnan(values), weights.unavailable, values)

    # Without a step, because an instance's effect on the metrics is unknown.
    return Weigher(NAME, raw, reads={"compute": frozenset(keys)})
