# SPDX-License-Identifier: Apache-2.0
"""Options of weighers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler_svc.core.metric_weights import NO_METRIC_WEIGHTS, MetricWeights


@dataclass(frozen=True, slots=True)
class WeigherOptions:
    """Weights of metrics, and of image properties by name.

    ``reported_devices``: PCIWeigher counts the devices in documents of compute nodes, not those in provider trees.
    """

    metrics: MetricWeights = NO_METRIC_WEIGHTS
    image_properties: Mapping[str, float] = field(default_factory=dict)
    reported_devices: bool = False


DEFAULTS = WeigherOptions()
