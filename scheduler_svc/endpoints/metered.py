# SPDX-License-Identifier: Apache-2.0
"""Metrics of RPC calls."""

from scheduler_svc import metrics


class MeteredEndpoint:
    """Base class of endpoints; counts and times calls. See rpcapi.endpoint.expose."""

    def _observe(self, method: str, code: str, seconds: float) -> None:
        metrics.CALLS.labels(method=method, code=code).inc()
        metrics.CALL_SECONDS.labels(method=method).observe(seconds)
