# SPDX-License-Identifier: Apache-2.0
"""The health of a process, for load balancers."""

from scheduler_svc.placement.http.authentication import HEALTH_PATH
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.routes import Route


def show(model: PlacementModel, _request: Request) -> Response:
    """Return that the store answers and that all it acknowledged is loaded; the application answers else 503."""
    model.freshness.require()
    return json_response({"status": "ready"})


ROUTES = [Route(method, HEALTH_PATH, show, None) for method in ("GET", "HEAD")]
