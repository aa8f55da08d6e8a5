# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement's provider trees, with any request of its API."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import webob
from peer_wire import serve
from placement_side import PlacementPeer


class PlacementApiPeer(PlacementPeer):
    """Placement's application, which answers any request."""

    def send(self, requests: Sequence[Mapping[str, Any]]) -> list[tuple[int, dict[str, str], str]]:
        """Return status, headers by lower-case name, and body for each request, in their order.

        A request is {"method", "path" with its query, "version" (a microversion), "body" (a document or None),
        "roles" (names with commas)}.
        """
        answers = []
        for question in requests:
            headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {question['version']}"}
            headers["X-Roles"] = question["roles"]
            request = webob.Request.blank(question["path"], method=question["method"], headers=headers)
            if question["body"] is not None:
                request.content_type = "application/json"
                request.body = json.dumps(question["body"]).encode()
            response = request.get_response(self._application)
            received = {name.lower(): value for name, value in response.headers.items()}
            answers.append((response.status_int, received, response.text if response.body else ""))
        return answers


if __name__ == "__main__":
    placement = PlacementApiPeer(Path(sys.argv[1]))
    serve({"load": placement.load, "send": placement.send})
