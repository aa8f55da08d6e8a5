# SPDX-License-Identifier: Apache-2.0
"""Base classes of endpoints."""

import oslo_messaging as messaging

from rpcapi.clients.scheduler import SchedulerAPI
from scheduler_svc import metrics


class MeteredEndpoint:
    """Base class of endpoints that counts and times calls. See rpcapi.endpoint.expose."""

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method=method, code=code).inc()
        metrics.CALL_SECONDS.labels(method=method).observe(seconds)


class SchedulerEndpoint(MeteredEndpoint):
    """Base class of endpoints on topic ``scheduler``; rpcapi.clients.scheduler.SchedulerAPI documents the methods."""

    target = messaging.Target(version=SchedulerAPI.VERSION)
