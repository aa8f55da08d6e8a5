# SPDX-License-Identifier: Apache-2.0
"""Health check of a process, for load balancers."""

from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel


def show(model: PlacementModel, _request: Request) -> Response:
    """Return 200 if all acknowledged writes are loaded. Raises Unavailable, which becomes 503."""
    model.freshness.require()
    return json_response({"status": "ready"})
