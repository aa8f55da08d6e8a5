# SPDX-License-Identifier: Apache-2.0
"""Outermost layer of the application: treats all responses alike, including the middleware's."""

import functools
import re
import time
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

import webob.exc
from oslo_context import context
from oslo_log import log

from scheduler_svc import metrics
from scheduler_svc.placement.http import error_responses, microversions
from scheduler_svc.placement.http.authentication import Application, StartResponse
from scheduler_svc.placement.model.problems import Problem

LOG = log.getLogger(__name__)

UNKNOWN_ROUTE = "unknown"

_KEY = "gantt.exchange"  # key in a WSGI environment


class Exchange:
    """Id of a request, and the path of its route, with {...} for variable parts."""

    __slots__ = ("request_id", "route")

    def __init__(self) -> None:
        self.request_id: str = context.generate_request_id()
        self.route = UNKNOWN_ROUTE


def exchange_of(environ: dict[str, Any]) -> Exchange:
    exchange = environ.get(_KEY)
    if not isinstance(exchange, Exchange):
        exchange = environ[_KEY] = Exchange()
    return exchange


REQUEST_ID = "x-openstack-request-id"
MAX_LOGGED = 2000  # characters of a path, and of a query string
FIRST_ERROR = 400  # smallest HTTP status of an error
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER_METHOD = "other"

_CALLERS_ID = re.compile("req-[0-9A-Za-z-]{1,64}")
# characters that RFC 3986 allows in path and query string; excludes quotes and blanks
_NOT_QUOTED = "/:?#[]@!$&'()*+,;=%-._~"


class Frame:
    """Wrapper that adds request ids, logs and counts responses, and gives all errors the API's form."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request; never raises."""
        started = time.perf_counter()
        exchange = exchange_of(environ)
        answer = _Answer()
        try:
            body = _read(self._application(environ, answer.start))
        except Exception:
            LOG.exception("%s failed unexpectedly", exchange.request_id)
            body = _refuse(environ, answer, 500, exchange)
        if answer.status >= FIRST_ERROR and REQUEST_ID not in answer.names():
            # Middleware refused the request in its own format.
            body = _refuse(environ, answer, answer.status, exchange)
        elif REQUEST_ID not in answer.names():
            answer.headers.append((REQUEST_ID, exchange.request_id))
        if environ["REQUEST_METHOD"] == "HEAD":
            body = []  # the client would read a body as the start of the connection's next response
        seconds = time.perf_counter() - started
        start_response(answer.status_line, answer.headers)
        return _RecordedBody(
            body, functools.partial(_record, environ, exchange, answer.status, sum(map(len, body)), seconds)
        )


class _Answer:
    """Status and headers of a response that is not sent yet."""

    def __init__(self) -> None:
        self.status_line = ""
        self.headers: list[tuple[str, str]] = []

    def start(self, status_line: str, headers: list[tuple[str, str]], _error: Any = None) -> None:
        """Store status and headers; to be called as WSGI's ``start_response``."""
        self.status_line, self.headers = status_line, headers

    @property
    def status(self) -> int:
        return int(self.status_line.partition(" ")[0])

    def names(self) -> set[str]:
        """Return the header names in lower case."""
        return {name.lower() for name, _ in self.headers}


class _RecordedBody(list[bytes]):
    """Chunks of a body. The server calls ``close`` after sending, so clients do not wait for ``on_close``."""

    def __init__(self, chunks: Iterable[bytes], on_close: Callable[[], None]) -> None:
        super().__init__(chunks)
        self.close = on_close


def _read(chunks: Iterable[bytes]) -> list[bytes]:
    try:
        return list(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


def _refuse(environ: dict[str, Any], answer: _Answer, status: int, exchange: Exchange) -> list[bytes]:
    """Replace all of a response but headers that describe no content by the API's error; return the body."""
    others = {name.lower(): text for name, text in answer.headers if not name.lower().startswith("content-")}
    detail = "" if status in webob.exc.status_map else f"The request was refused with status {status}."
    problem = Problem(status if not detail else 500, detail)
    return list(
        error_responses.respond(
            problem,
            environ,
            answer.start,
            request_id=exchange.request_id,
            version=microversions.parse_or_latest(environ.get("HTTP_OPENSTACK_API_VERSION")),
            headers={**others, REQUEST_ID: exchange.request_id},
        )
    )


def _record(environ: dict[str, Any], exchange: Exchange, status: int, length: int, seconds: float) -> None:
    """Count and log a request. Headers may be secret, so only the caller's request id is logged."""
    method = environ["REQUEST_METHOD"] if environ["REQUEST_METHOD"] in METHODS else OTHER_METHOD
    metrics.HTTP_REQUESTS.labels(method, exchange.route, str(status)).inc()
    metrics.HTTP_SECONDS.labels(method, exchange.route).observe(seconds)
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))[:MAX_LOGGED]
    query = environ.get("QUERY_STRING", "")[:MAX_LOGGED]
    callers_id = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
    LOG.info(
        '%s %s %s "%s %s%s" status: %d bytes: %d ms: %.1f',
        exchange.request_id,
        callers_id if _CALLERS_ID.fullmatch(callers_id) else "-",
        _quote(environ.get("REMOTE_ADDR", "-")),
        _quote(environ["REQUEST_METHOD"]),
        urllib.parse.quote(path, safe="/:", encoding="latin-1"),
        f"?{_quote(query)}" if query else "",
        status,
        length,
        seconds * 1000,
    )


def _quote(text: str) -> str:
    """Percent-encode characters that could break a log line."""
    return urllib.parse.quote(text, safe=_NOT_QUOTED, encoding="latin-1", errors="replace")
