# SPDX-License-Identifier: Apache-2.0
"""Base class of the conductor's endpoints; rpcapi.clients.conductor.ConductorAPI documents the methods."""

import oslo_messaging as messaging

from conductor import metrics
from conductor.collaborators import Conductor
from rpcapi.clients.conductor import ConductorAPI


class ConductorEndpoint:
    """Base of the conductor's endpoints: their common target, and metrics of their calls."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method, code).inc()
        metrics.CALL_SECONDS.labels(method).observe(seconds)
