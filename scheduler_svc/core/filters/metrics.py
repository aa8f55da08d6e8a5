# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts that have not reported all weighed metrics: Nova's MetricsFilter."""

from collections.abc import Iterable, Iterator

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, Sieve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "MetricsFilter"
REASON = "metric {} not reported"


def build(metrics: Iterable[str]) -> Filter:
    """Return the filter for these metric names."""
    keys = {name: f"metrics.{name}" for name in metrics}

    def sieves(view: View, request: SchedulingRequest) -> Iterator[Sieve]:
        for name, key in keys.items():
            yield Sieve(REASON.format(name), ~np.isnan(view.state("compute", key)))

    return Filter(NAME, sieves, {"compute": frozenset(keys.values())})
