# SPDX-License-Identifier: Apache-2.0
"""Hosts with the better metrics first: Nova's MetricsWeigher, the sum of ratio x metric."""

import numpy as np

from scheduler_svc.metric_weights import AGGREGATE_OPTION, MetricWeights
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

NAME = "MetricsWeigher"


def build(weights: MetricWeights) -> Weigher:
    """Return the weigher for these metrics."""
    keys = {f"metrics.{name}": ratio for name, ratio in weights.ratios.items()}

    def raw(view: View, request: Request) -> FloatColumn:
        """Return the weighed sum of each row, ``unavailable`` where one of its metrics is not there."""
        figures = np.zeros(view.size, np.float64)
        for key, ratio in keys.items():
            figures += ratio * view.state("compute", key)
        return np.where(np.isnan(figures), weights.unavailable, figures)

    return Weigher(NAME, raw, step, {"compute": frozenset(keys)}, option=AGGREGATE_OPTION)


def step(request: Request) -> float:
    """Return 0: what an instance will do to the metrics is not known."""
    return 0.0
