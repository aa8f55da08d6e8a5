# SPDX-License-Identifier: Apache-2.0
"""Filters that reject hosts at the limit of a reported count: Nova's IoOpsFilter and NumInstancesFilter.

The filters by aggregate read the limit from aggregate metadata. The claim script checks each limit again by its claims.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from scheduler_svc.core import reads
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View


class LimitedCount(NamedTuple):
    """Metric with a limit. ``limit`` names both the field of FilterOptions and the aggregate metadata key."""

    metric: str
    limit: str
    reason: str


IO_OPS = LimitedCount(reads.IO_OPS, "max_io_ops_per_host", "too many I/O operations")
INSTANCES = LimitedCount(reads.INSTANCES, "max_instances_per_host", "too many instances")


def _build(name: str, counted: LimitedCount, options: FilterOptions = DEFAULTS, *, by_aggregate: bool) -> Filter:
    configured: int = getattr(options, counted.limit)

    def limit(view: View) -> FloatColumn | float:
        if not by_aggregate:
            return configured
        return view.aggregates.get_or_compute(
            (name, configured), lambda: view.aggregates.smallest(counted.limit, _integer, configured)
        )

    def count(view: View) -> FloatColumn:
        return np.fmax(view.state("compute", counted.metric), 0.0)

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        yield HostPredicate(counted.reason, count(view) < limit(view))

    def remaining_instances(view: View, request: SchedulingRequest) -> FloatColumn:
        # Counts may be fractional: a host below its limit takes one more instance.
        return np.ceil(limit(view) - count(view))

    def claim_limit(view: View, request: SchedulingRequest) -> FloatColumn:
        return np.where(np.isnan(view.counted_claims(counted.metric)), np.inf, limit(view))

    metrics = {"compute": frozenset({counted.metric})}
    return Filter(
        name,
        predicates,
        reads.union([metrics, READS if by_aggregate else {}]),
        remaining_instances=remaining_instances,
        claim_limit=claim_limit if counted is INSTANCES else None,
        build_limit=claim_limit if counted is IO_OPS else None,
        reasons=(counted.reason,),
    )


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


build_io_ops = partial(_build, "IoOpsFilter", IO_OPS, by_aggregate=False)
build_io_ops_by_aggregate = partial(_build, "AggregateIoOpsFilter", IO_OPS, by_aggregate=True)
build_instances = partial(_build, "NumInstancesFilter", INSTANCES, by_aggregate=False)
build_instances_by_aggregate = partial(_build, "AggregateNumInstancesFilter", INSTANCES, by_aggregate=True)
