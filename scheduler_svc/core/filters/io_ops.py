# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts where too many instances are built, moved or copied: Nova's IoOpsFilter and AggregateIoOpsFilter."""

from scheduler_svc.core.matching import counts
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter

NAME = "IoOpsFilter"
AGGREGATE_NAME = "AggregateIoOpsFilter"
METRIC = counts.LimitedMetric("metrics.io_ops", "max_io_ops_per_host", "too many I/O operations")


def build(options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter with the configured limit."""
    return counts.build(NAME, METRIC, options.max_io_ops_per_host)


def build_by_aggregate(options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter with limits in aggregate metadata."""
    return counts.build_by_aggregate(AGGREGATE_NAME, METRIC, options.max_io_ops_per_host)
