# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts with too many instances: Nova's NumInstancesFilter and AggregateNumInstancesFilter."""

from functools import partial

from scheduler_svc.core.matching import counts

NAME = "NumInstancesFilter"
AGGREGATE_NAME = "AggregateNumInstancesFilter"
METRIC = counts.LimitedMetric("metrics.instances", "max_instances_per_host", "too many instances")

build = partial(counts.build, NAME, METRIC)
build_by_aggregate = partial(counts.build_by_aggregate, AGGREGATE_NAME, METRIC)
