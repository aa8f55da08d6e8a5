# SPDX-License-Identifier: Apache-2.0
"""Placement's application in the process of its client: what Nova's client uses in the place of a session."""

import json
from typing import Any

import webob


class PlacementAdapter:
    """Has the methods of keystoneauth's adapter that Nova's client of Placement calls."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def get(self, url: str, **options: Any) -> "PlacementAnswer":
        """Send a GET."""
        return self.send("GET", url, **options)

    def post(self, url: str, **options: Any) -> "PlacementAnswer":
        """Send a POST."""
        return self.send("POST", url, **options)

    def put(self, url: str, **options: Any) -> "PlacementAnswer":
        """Send a PUT."""
        return self.send("PUT", url, **options)

    def delete(self, url: str, **options: Any) -> "PlacementAnswer":
        """Send a DELETE."""
        return self.send("DELETE", url, **options)

    def send(
        self, method: str, url: str, *, json: Any = None, microversion: str | None = None, **_: Any
    ) -> "PlacementAnswer":
        """Send a request as an administrator."""
        headers = {"X-Auth-Token": "admin", "Accept": "application/json"}
        if microversion:
            headers["OpenStack-API-Version"] = f"placement {microversion}"
        request = webob.Request.blank(url, method=method, headers=headers)
        if json is not None:
            request.content_type = "application/json"
            request.body = _encode(json)
        return PlacementAnswer(request.get_response(self._application))


class PlacementAnswer:
    """Has the attributes of a response of requests that Nova's client reads."""

    def __init__(self, answer: Any) -> None:
        self.status_code = answer.status_int
        self.headers = answer.headers
        self.text = answer.text
        self.content = answer.body

    def json(self) -> Any:
        """Return the body."""
        return json.loads(self.text)

    def __bool__(self) -> bool:
        return self.status_code < 400


def _encode(body: Any) -> bytes:
    return json.dumps(body).encode()
