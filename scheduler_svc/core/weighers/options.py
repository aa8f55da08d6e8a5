# SPDX-License-Identifier: Apache-2.0
"""Options of weighers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricWeights:
    """A host's weight is the sum of ratio * metric, or ``unavailable`` if any metric is missing."""

    ratios: Mapping[str, float] = field(default_factory=dict)
    unavailable: float = -10000.0


@dataclass(frozen=True, slots=True)
class WeigherOptions:
    """Weights of metrics, and of image properties by name.

    ``reported_devices``: PCIWeigher counts the devices in documents of compute nodes, not those in provider trees.
    """

    metrics: MetricWeights = MetricWeights()
    image_properties: Mapping[str, float] = field(default_factory=dict)
    reported_devices: bool = False


DEFAULTS = WeigherOptions()
