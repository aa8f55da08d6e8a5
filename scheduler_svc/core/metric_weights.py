# SPDX-License-Identifier: Apache-2.0
"""The weights of metrics that hosts report."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricWeights:
    """A host's weight is the sum of ratio x metric, or ``unavailable`` if it lacks one of the metrics."""

    ratios: Mapping[str, float] = field(default_factory=dict)
    unavailable: float = -10000.0


NO_METRIC_WEIGHTS = MetricWeights()
