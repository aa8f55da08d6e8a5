# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts where too many instances are built, moved or copied: Nova's IoOpsFilter and AggregateIoOpsFilter."""

from functools import partial

from scheduler_svc.core.matching import counts

NAME = "IoOpsFilter"
AGGREGATE_NAME = "AggregateIoOpsFilter"
METRIC = counts.LimitedMetric("metrics.io_ops", "max_io_ops_per_host", "too many I/O operations")

build = partial(counts.build, NAME, METRIC)
build_by_aggregate = partial(counts.build_by_aggregate, AGGREGATE_NAME, METRIC)
