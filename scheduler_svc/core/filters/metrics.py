# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts without a value for some weighed metric: Nova's MetricsFilter."""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "MetricsFilter"
REASON = "metric {} not reported"


def build(options: FilterOptions = DEFAULTS) -> Filter:
    keys = {name: f"metrics.{name}" for name in options.metrics}

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        for name, key in keys.items():
            yield HostPredicate(REASON.format(name), ~np.isnan(view.state("compute", key)))

    return Filter(NAME, predicates, {"compute": frozenset(keys.values())}, reasons=(REASON,))
