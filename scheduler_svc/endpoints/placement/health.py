# SPDX-License-Identifier: Apache-2.0
"""The health of a process, for load balancers."""

from scheduler_svc.endpoints.placement.authentication import HEALTH_PATH
from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.placement.freshness import Freshness


class HealthHandlers:
    """Tells whether the process that is asked can serve requests."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness

    def routes(self) -> list[Route]:
        """Return the routes of the health; everybody may call them."""
        return [Route(method, HEALTH_PATH, self.show, None) for method in ("GET", "HEAD")]

    def show(self, _request: Request) -> Response:
        """Return that the store answers and that all it acknowledged is loaded; the application answers else 503."""
        self._freshness.require()
        return json_response({"status": "ready"})
