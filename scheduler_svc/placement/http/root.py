# SPDX-License-Identifier: Apache-2.0
"""Handler of the API's root: version discovery without a token."""

from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.microversions import LATEST, OLDEST
from scheduler_svc.placement.http.model import PlacementModel


def show(_model: PlacementModel, _request: Request) -> Response:
    version = {
        "id": f"v1.{OLDEST}",
        "min_version": f"1.{OLDEST}",
        "max_version": f"1.{LATEST}",
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    }
    return json_response({"versions": [version]})
