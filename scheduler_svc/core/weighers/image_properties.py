# SPDX-License-Identifier: Apache-2.0
"""Weigher of instances with the request's image properties. Hosts report one metric per property value."""

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import reported
from scheduler_svc.core.weighers.options import DEFAULTS, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

NAME = "ImagePropertiesWeigher"


def build(options: WeigherOptions = DEFAULTS) -> Weigher | None:
    weights = options.image_properties  # image property -> weight of each instance with the same value
    if not weights:
        return None
    families = {name: f"{reported.IMAGE}{name}=" for name in weights}

    def weighted_metrics(request: SchedulingRequest) -> dict[str, float]:
        properties = request.image.get("properties", {})
        return {f"{families[name]}{properties[name]}": weights[name] for name in families if name in properties}

    def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
        """Return the weighted count of matching instances. An instance counts once per matching property."""
        metrics = weighted_metrics(request)
        if not metrics:
            return None
        values = np.zeros(view.size, np.float64)
        for key, weight in metrics.items():
            values += weight * reported.count(view, key)
        return values

    def step(request: SchedulingRequest) -> float:
        return sum(weighted_metrics(request).values(), 0.0)

    return Weigher(NAME, raw, step, {"compute": frozenset(families.values())})
