# SPDX-License-Identifier: Apache-2.0
"""Responses to refused requests: JSON as the OpenStack API guidelines have it, or HTML or text where that is accepted.

https://specs.openstack.org/openstack/api-wg/guidelines/errors.html
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import webob.exc

from scheduler_svc.endpoints.placement import microversions
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.problems import Problem

CODES_SINCE = Microversion(1, 23)


def respond(
    problem: Problem,
    environ: dict[str, Any],
    start_response: Callable[..., Any],
    *,
    request_id: str,
    version: Microversion | None,
    headers: Mapping[str, str],
) -> Iterable[bytes]:
    """Answer a request with a problem; ``version`` is None where the request names none that is served."""

    def format_json(body: str, status: str, title: str, environ: Mapping[str, Any]) -> dict[str, Any]:
        error: dict[str, Any] = {
            "status": problem.status,
            "title": title,
            "detail": webob.exc.strip_tags(body),
            "request_id": request_id,
        }
        if version is None:
            error |= {"min_version": str(microversions.OLDEST), "max_version": str(microversions.LATEST)}
        elif version >= CODES_SINCE:
            error["code"] = problem.code
        return {"errors": [error]}

    response = webob.exc.status_map[problem.status](problem.detail, json_formatter=format_json)
    response.headers.update(headers)
    if environ.get("HTTP_ACCEPT") in (None, "", "*/*"):
        environ = environ | {"HTTP_ACCEPT": "application/json"}
    chunks: Iterable[bytes] = response.generate_response(environ, start_response)
    return chunks
