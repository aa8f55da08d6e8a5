# SPDX-License-Identifier: Apache-2.0
"""WSGI application that forwards each request to another Placement and returns the answer unchanged."""

import http.client
import string
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

from oslo_log import log
from webob.headers import EnvironHeaders

from scheduler_svc.placement.http.error_responses import plain_response
from scheduler_svc.placement.http.messages import read_body
from scheduler_svc.placement.model.problems import UNDEFINED, Problem
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.exchanges import NotAnswered, SentRequest, end_to_end
from scheduler_svc.placement.shadow.mirror import Mirror

LOG = log.getLogger(__name__)

NO_BODY = (204, 304)


class ShadowProxy:
    """Proxy of ``placement`` that passes each exchange to ``mirror``."""

    def __init__(self, placement: HttpServerAt, mirror: Mirror) -> None:
        self._placement = placement
        self._mirror = mirror

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            request = _request(environ)
        except Problem as problem:
            return _refuse(problem, start_response)
        began = self._mirror.begin(request)
        answer = None
        try:
            answer = self._placement.send(request)
        except NotAnswered as error:
            LOG.warning("%s %s: %s", request.method, request.target, error)
        finally:
            self._mirror.end(request, began, answer)
        if answer is None:
            detail = "The Placement behind this proxy did not answer."
            return _refuse(Problem(502, detail, UNDEFINED), start_response)
        headers = list(answer.headers)
        if answer.status not in NO_BODY and request.method != "HEAD":
            headers.append(("Content-Length", str(len(answer.body))))
        start_response(_status(answer.status), headers)
        return [answer.body]


def _request(environ: dict[str, Any]) -> SentRequest:
    headers = ((name, value) for name, value in EnvironHeaders(environ).items() if value or name != "Content-Type")
    return SentRequest(environ["REQUEST_METHOD"], _target(environ), dict(end_to_end(headers)), read_body(environ))


def _target(environ: dict[str, Any]) -> str:
    """Return the path and query in the client's percent-encoding, which WSGI's decoded path may have lost."""
    raw: str = environ.get("REQUEST_URI", "")
    if raw.startswith("/"):
        return urllib.parse.quote(raw.encode("latin-1"), safe=string.punctuation)
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    target = urllib.parse.quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~") or "/"
    query = environ.get("QUERY_STRING")
    return f"{target}?{query}" if query else target


def _status(code: int) -> str:
    return f"{code} {http.client.responses.get(code, 'Unknown')}"


def _refuse(problem: Problem, start_response: Callable[..., Any]) -> Iterable[bytes]:
    line = _status(problem.status)
    headers, body = plain_response(problem, line.partition(" ")[2])
    start_response(line, headers)
    return [body]
