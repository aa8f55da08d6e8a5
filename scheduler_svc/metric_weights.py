# SPDX-License-Identifier: Apache-2.0
"""By which of the figures that hosts report they are weighed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

AGGREGATE_OPTION = "metrics_weight_multiplier"  # in aggregates; the option itself is [metrics] weight_multiplier


@dataclass(frozen=True, slots=True)
class MetricWeights:
    """A host's weight is the sum of ratio x metric; ``unavailable`` where it lacks one of them."""

    ratios: Mapping[str, float] = field(default_factory=dict)
    unavailable: float = -10000.0


NONE = MetricWeights()
