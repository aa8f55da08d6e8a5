# SPDX-License-Identifier: Apache-2.0
"""Filters that reject hosts at the limit of a reported count: Nova's IoOpsFilter and NumInstancesFilter.

The filters by aggregate read the limit from aggregate metadata. The claim script checks the limit of instances again
by its claims. It does not know which builds have ended, so that of I/O operations holds per worker only.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.reads import union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View


class LimitedCount(NamedTuple):
    """Metric with a limit. ``limit`` names both the field of FilterOptions and the aggregate metadata key.

    ``is_of_claims``: every live claim on a host counts, so the claim script can check the limit.
    """

    metric: str
    limit: str
    reason: str
    is_of_claims: bool


IO_OPS = LimitedCount("metrics.io_ops", "max_io_ops_per_host", "too many I/O operations", is_of_claims=False)
INSTANCES = LimitedCount("metrics.instances", "max_instances_per_host", "too many instances", is_of_claims=True)


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
        return np.broadcast_to(limit(view), view.size)

    reads = union([{"compute": frozenset({counted.metric})}, READS if by_aggregate else {}])
    return Filter(
        name,
        predicates,
        reads,
        remaining_instances=remaining_instances,
        claim_limit=claim_limit if counted.is_of_claims else None,
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
