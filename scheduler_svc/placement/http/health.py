# SPDX-License-Identifier: Apache-2.0
"""Health of a process, for load balancers."""

from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel


def show(model: PlacementModel, _request: Request) -> Response:
    """Succeed if the store answers and all that it acknowledged is loaded; otherwise the application responds 503."""
    model.freshness.require()
    return json_response({"status": "ready"})
