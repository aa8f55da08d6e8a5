# SPDX-License-Identifier: Apache-2.0
"""Weights of reported metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricWeights:
    """A host's weight is the sum of ratio * metric, or ``unavailable`` if any metric is missing."""

    ratios: Mapping[str, float] = field(default_factory=dict)
    unavailable: float = -10000.0


NO_METRIC_WEIGHTS = MetricWeights()
