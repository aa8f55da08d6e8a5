# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts with too many instances: Nova's NumInstancesFilter and AggregateNumInstancesFilter."""

from scheduler_svc.core.matching import counts
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter

NAME = "NumInstancesFilter"
AGGREGATE_NAME = "AggregateNumInstancesFilter"
METRIC = counts.LimitedMetric("metrics.instances", "max_instances_per_host", "too many instances")


def build(options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter with the configured limit."""
    return counts.build(NAME, METRIC, options.max_instances_per_host)


def build_by_aggregate(options: FilterOptions = DEFAULTS) -> Filter:
    """Return the filter with limits in aggregate metadata."""
    return counts.build_by_aggregate(AGGREGATE_NAME, METRIC, options.max_instances_per_host)
