# SPDX-License-Identifier: Apache-2.0
"""Base class of the conductor's endpoints; rpcapi.clients.conductor.ConductorAPI documents the methods."""

import oslo_messaging as messaging

from conductor import metrics
from conductor.parts import ConductorParts
from rpcapi.clients.conductor import ConductorAPI


class ConductorEndpoint:
    """Methods of one area, with the target of all endpoints. Counts and times calls."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(self, parts: ConductorParts) -> None:
        self._parts = parts

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method, code).inc()
        metrics.CALL_SECONDS.labels(method).observe(seconds)
