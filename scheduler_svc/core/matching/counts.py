# SPDX-License-Identifier: Apache-2.0
"""Limits on counts that hosts report.

What Nova's IoOpsFilter and NumInstancesFilter, and their variants with limits in aggregate metadata, have in common.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View


@dataclass(frozen=True, slots=True)
class LimitedMetric:
    """A metric, the key of its limit, and the reason for rejecting a host at the limit.

    The key is that of a FilterOptions, and of the aggregate metadata.
    """

    metric: str
    key: str
    reason: str

    def limit(self, options: FilterOptions) -> int:
        """Return the configured limit."""
        limit: int = getattr(options, self.key)
        return limit


def build(name: str, metric: LimitedMetric, options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter that accepts hosts with a count below the configured limit."""
    configured = metric.limit(options)
    return _build(name, metric, lambda view: configured, {"compute": frozenset({metric.metric})})


def build_by_aggregate(name: str, metric: LimitedMetric, options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter with the smallest limit in the metadata of the host's aggregates.

    The limit is the configured one if no aggregate sets one, or if one of them is not an integer, as in Nova.
    """

    default = metric.limit(options)

    def limit(view: View) -> FloatColumn | int:
        texts = view.aggregates.metadata_values(metric.key)
        if not texts:
            return default
        return view.aggregates.get_or_compute((name, default), lambda: _limits(view, texts, default))

    reads = {"compute": frozenset({metric.metric}), "aggregate": frozenset({"hosts", "metadata"})}
    return _build(name, metric, limit, reads)


def _build(name: str, metric: LimitedMetric, limit: Callable[[View], FloatColumn | int], reads: Reads) -> Filter:
    """Return the filter; each instance of a request counts for the next one, as in Nova."""

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        yield HostPredicate(metric.reason, read_count(view, metric) < limit(view))

    def room(view: View, request: SchedulingRequest) -> FloatColumn:
        # Counts may have fractions.
        return np.ceil(limit(view) - read_count(view, metric))

    return Filter(name, predicates, reads, room=room)


def read_count(view: View, metric: LimitedMetric) -> FloatColumn:
    """Return the count of each row; 0 if it is not reported."""
    return np.fmax(view.state("compute", metric.metric), 0.0)


def _limits(view: View, texts: Mapping[str, str], default: int) -> FloatColumn:
    numbers = {name: _integer(text) for name, text in texts.items()}
    limits = np.full(view.size, float(default))
    # In descending order, so that the smallest limit is assigned last.
    for limit in sorted({number for number in numbers.values() if number is not None}, reverse=True):
        limits[view.aggregates.members([name for name, number in numbers.items() if number == limit])] = limit
    limits[view.aggregates.members([name for name, number in numbers.items() if number is None])] = default
    return limits


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
