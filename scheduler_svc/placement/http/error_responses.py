# SPDX-License-Identifier: Apache-2.0
"""Error responses: JSON (https://specs.openstack.org/openstack/api-wg/guidelines/errors.html), HTML or text."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson
import webob.exc

from scheduler_svc.placement.http.messages import JSON, accepts_json
from scheduler_svc.placement.http.microversions import LATEST, OLDEST
from scheduler_svc.placement.model.problems import Problem

CODES_SINCE = 23


def error_document(status: int, title: str, detail: str, **members: str) -> dict[str, Any]:
    """Return the JSON document of an error response; ``members`` are added to the error."""
    return {"errors": [{"status": status, "title": title, "detail": detail, **members}]}


def plain_response(problem: Problem, title: str) -> tuple[list[tuple[str, str]], bytes]:
    """Return the headers and body of a JSON error outside the application."""
    body = orjson.dumps(error_document(problem.status, title, problem.detail or title, code=problem.code))
    return [("Content-Type", JSON), ("Content-Length", str(len(body)))], body


def respond(
    problem: Problem,
    environ: dict[str, Any],
    start_response: Callable[..., Any],
    *,
    request_id: str,
    version: int | None,
    headers: Mapping[str, str],
) -> Iterable[bytes]:
    """Send a problem as an error response; ``version`` is None without a supported microversion."""

    def format_json(body: str, status: str, title: str, environ: Mapping[str, Any]) -> dict[str, Any]:
        members = {"request_id": request_id}
        if version is None:
            members |= {"min_version": f"1.{OLDEST}", "max_version": f"1.{LATEST}"}
        elif version >= CODES_SINCE:
            members["code"] = problem.code
        return error_document(problem.status, title, webob.exc.strip_tags(body), **members)

    response = webob.exc.status_map[problem.status](problem.detail, json_formatter=format_json)
    response.headers.update(headers)
    environ = {"CONTENT_TYPE": "None", **environ}  # webob quotes the content type in some messages
    if accepts_json(environ.get("HTTP_ACCEPT") or "*/*"):
        environ["HTTP_ACCEPT"] = JSON
    chunks: Iterable[bytes] = response.generate_response(environ, start_response)
    return chunks
