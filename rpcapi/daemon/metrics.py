# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of services, aggregated over the daemon's workers; docs/metrics.md lists them.

Declare them at module level in modules that only workers import: the metrics folder is set just before that.
"""

import os
import platform
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import prometheus_client

from rpcapi import version

PREFIX = "gantt_"
COUNTER_SUFFIX = "_total"
# Seconds, from a decision (tens of microseconds) to a call that times out.
TIME_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    10.0,
    60.0,
)

Across = Literal["sum", "max", "min", "all"]


class Declaration(NamedTuple):
    """Declared metric; ``across`` combines a gauge's values of several workers."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    text: str
    labels: Sequence[str] = ()
    across: Across = "sum"


declarations: list[Declaration] = []


def counter(name: str, text: str, labels: Sequence[str] = ()) -> prometheus_client.Counter:
    """Declare a counter; a respawned worker continues the counter of its index."""
    full_name = f"{PREFIX}{name.removesuffix(COUNTER_SUFFIX)}{COUNTER_SUFFIX}"
    declarations.append(Declaration(full_name, "counter", text, labels))
    return prometheus_client.Counter(full_name, text, labels)


def gauge(name: str, text: str, labels: Sequence[str] = (), across: Across = "sum") -> prometheus_client.Gauge:
    """Declare a gauge without dead workers' values; ``across`` "all" gives each worker a label ``pid``."""
    declarations.append(Declaration(PREFIX + name, "gauge", text, labels, across))
    live: Any = f"live{across}"
    return prometheus_client.Gauge(PREFIX + name, text, labels, multiprocess_mode=live)


def histogram(
    name: str, text: str, labels: Sequence[str] = (), buckets: Sequence[float] = TIME_BUCKETS
) -> prometheus_client.Histogram:
    declarations.append(Declaration(PREFIX + name, "histogram", text, labels))
    return prometheus_client.Histogram(PREFIX + name, text, labels, buckets=buckets)


PROCESS_ID = gauge(
    "worker_process_id", "Process id of each serving worker; label pid is the worker's number", across="all"
)
BUILD_INFO = gauge("build_info", "1, with the versions of gantt and of Python", ("version", "python"), "max")

NOT_READY = gauge(
    "worker_not_ready", "Whether all serving workers see an obstacle, by its description", ("reason",), "min"
)


def record_serving() -> None:
    PROCESS_ID.set(os.getpid())
    BUILD_INFO.labels(version=version.installed_version(), python=platform.python_version()).set(1)
