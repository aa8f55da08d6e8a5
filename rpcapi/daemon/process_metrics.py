# SPDX-License-Identifier: Apache-2.0
"""Metrics that each worker sets once it serves. Only workers may import them, see ``rpcapi.daemon.metrics``."""

import os
import platform

from rpcapi import version
from rpcapi.daemon import metrics

PROCESS_ID = metrics.gauge(
    "worker_process_id", "Process id of each serving worker; label pid is the worker's number", across="all"
)
BUILD_INFO = metrics.gauge("build_info", "1, with the versions of gantt and of Python", ("version", "python"), "max")

NOT_READY = metrics.gauge(
    "worker_not_ready", "Whether all serving workers see an obstacle, by its description", ("reason",), "min"
)


def record_serving() -> None:
    PROCESS_ID.set(os.getpid())
    BUILD_INFO.labels(version=version.installed_version(), python=platform.python_version()).set(1)
