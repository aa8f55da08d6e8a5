# SPDX-License-Identifier: Apache-2.0
"""Hosts by how many of their instances came from images with the request's properties.

Agents report a metric for each value of each property that is weighed: how many of their instances have it.
"""

from collections.abc import Mapping

import numpy as np

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import reported
from scheduler_svc.weighers.weigher import Weigher

NAME = "ImagePropertiesWeigher"


def build(weights: Mapping[str, float]) -> Weigher:
    """Return the weigher for these properties, each with what an instance of the same value counts."""
    families = {name: f"{reported.IMAGE}{name}=" for name in weights}

    def asked(request: Request) -> dict[str, float]:
        """Return the metrics that tell of the request's own values, each with its weight."""
        properties = request.image.get("properties", {})
        return {f"{families[name]}{properties[name]}": weights[name] for name in families if name in properties}

    def raw(view: View, request: Request) -> FloatColumn | None:
        """Return the weighed count of alike instances on each row, once for each property that is alike."""
        wanted = asked(request)
        if not wanted:
            return None
        figures = np.zeros(view.size, np.float64)
        for key, weight in wanted.items():
            figures += weight * reported.count(view, key)
        return figures

    def step(request: Request) -> float:
        """Return what an instance of the request counts for the next."""
        return sum(asked(request).values(), 0.0)

    return Weigher(NAME, raw, step, {"compute": frozenset(families.values())}, option="image_props_weight_multiplier")
