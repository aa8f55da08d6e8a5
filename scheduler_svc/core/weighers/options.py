# SPDX-License-Identifier: Apache-2.0
"""Options of weighers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricWeights:
    """Ratios of metrics.

    A host's weight is the sum of ratio * metric, or ``unavailable`` if any metric is missing.
    """

    ratios: Mapping[str, float] = field(default_factory=dict)
    unavailable: float = -10000.0


@dataclass(frozen=True, slots=True)
class WeigherOptions:
    """Options of all weighers."""

    metrics: MetricWeights = MetricWeights()
    image_properties: Mapping[str, float] = field(default_factory=dict)  # image property -> weight
    # Whether PCIWeigher counts the devices in documents of compute nodes instead of those in provider trees.
    reported_devices: bool = False


DEFAULTS = WeigherOptions()
