# SPDX-License-Identifier: Apache-2.0
"""WSGI application: passes each request to its route's handler, and encodes the result."""

from collections.abc import Iterable, Sequence
from typing import Any

from oslo_log import log

from rpcapi import errors
from scheduler_svc.placement.http import error_responses, microversions
from scheduler_svc.placement.http.authentication import OPEN_PATHS, StartResponse, caller_of
from scheduler_svc.placement.http.frame import Exchange, exchange_of
from scheduler_svc.placement.http.messages import (
    JSON,
    Request,
    Response,
    accepts_json,
    content_length,
    http_date,
)
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.policies import Policies
from scheduler_svc.placement.http.routes import ROUTES, ApiRoute, Router
from scheduler_svc.placement.http.schemas import of_version
from scheduler_svc.placement.model.problems import Problem, bad_request, not_found

LOG = log.getLogger(__name__)

UNAVAILABLE = 503
RETRY_SECONDS = 1  # value of Retry-After with status 503
CACHE_HEADERS_SINCE = 15


class PlacementApplication:
    """WSGI application of all routes; ``__call__`` never raises."""

    def __init__(self, model: PlacementModel, policies: Policies) -> None:
        self._model = model
        self._router = Router(ROUTES)
        self._policies = policies

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        exchange = exchange_of(environ)
        request_id = exchange.request_id
        headers = {"x-openstack-request-id": request_id, "vary": microversions.HEADER}
        version: int | None = None
        try:
            try:
                caller = caller_of(environ)
                if caller.user is None and environ.get("PATH_INFO", "") not in OPEN_PATHS:
                    version = microversions.parse_or_latest(environ.get("HTTP_OPENSTACK_API_VERSION"))
                    raise Problem(401, "")
                version = microversions.parse(environ.get("HTTP_OPENSTACK_API_VERSION"))
                headers[microversions.HEADER] = f"{microversions.SERVICE} 1.{version}"
                response = self._serve(Request(environ, version, caller, request_id), headers, exchange)
            except errors.InvalidRequest as error:
                raise bad_request(str(error)) from error
            except (errors.Unavailable, errors.StoreFull) as error:
                raise Problem(UNAVAILABLE, _reason(error, request_id)) from error
            except Problem:
                raise
            except Exception as error:
                LOG.exception("%s: %s %s failed", request_id, environ.get("REQUEST_METHOD"), environ.get("PATH_INFO"))
                raise Problem(500, f"The request failed unexpectedly; see {request_id} in the server's log.") from error
        except Problem as problem:
            if problem.status == UNAVAILABLE:
                headers["retry-after"] = str(RETRY_SECONDS)
            return error_responses.respond(
                problem, environ, start_response, request_id=request_id, version=version, headers=headers
            )
        return _send(response, version, environ, headers, start_response)

    def _serve(self, request: Request, headers: dict[str, str], exchange: Exchange) -> Response:
        environ = request.environ
        if content_length(environ) and not environ.get("CONTENT_TYPE"):
            raise bad_request("content-type header required when content-length > 0")
        match = self._router.find(_decode_path(environ.get("PATH_INFO", "")))
        if match is None:
            raise not_found("")
        exchange.route = match.path
        routes = match.methods.get(environ["REQUEST_METHOD"])
        if routes is None:
            headers["allow"] = ", ".join(match.methods)
            raise Problem(405, "The method specified is not allowed for this resource.")
        route = _choose(routes, request)
        if not route.type_first:
            _check_types(route, request)
        if route.rule is not None:
            project = request.parameter("project_id") if route.of_project else None
            self._policies.check(route.rule, request.caller, project)
        if route.query is not None:
            request.check_query(of_version(route.query, request.version))
        return route.handler(self._model, request, *match.variables)


def _reason(error: errors.GanttError, request_id: str) -> str:
    """Return a 503's reason for the client; the store driver's details go to the log only."""
    is_drivers = isinstance(error, errors.StoreUnavailable) and not isinstance(error, errors.NotReplicated)
    if not is_drivers or error.__cause__ is None or isinstance(error.__cause__, errors.GanttError):
        return str(error)
    LOG.warning("%s: %s", request_id, error)
    return f"The store cannot be reached; see {request_id} in the server's log."


def _choose(routes: Sequence[ApiRoute], request: Request) -> ApiRoute:
    for route in routes:
        if route.type_first:
            _check_types(route, request)
        if route.since <= request.version <= route.until:
            return route
    raise Problem(routes[0].outside, "")


def _check_types(route: ApiRoute, request: Request) -> None:
    if route.takes_json:
        content_type = request.environ.get("CONTENT_TYPE", "").partition(";")[0].strip() or "None"
        if content_type != JSON:
            raise Problem(415, f"The media type {content_type:.100} is not supported, use {JSON}")
    accept = request.environ.get("HTTP_ACCEPT")
    if route.gives_json and accept and not accepts_json(accept):
        raise Problem(406, f"Only {JSON} is provided")


def _decode_path(path: str) -> str:
    """Decode a path from WSGI's latin-1 form. Raises Problem 404 if it is not UTF-8."""
    try:
        return path.encode("latin-1").decode()
    except UnicodeError as error:
        raise not_found("") from error


def _send(
    response: Response,
    version: int,
    environ: dict[str, Any],
    headers: dict[str, str],
    start_response: StartResponse,
) -> Iterable[bytes]:
    if response.location is not None:
        headers["location"] = _host_url(environ) + response.location
    if response.modified_ms is not None and version >= CACHE_HEADERS_SINCE:
        headers |= {"last-modified": http_date(response.modified_ms), "cache-control": "no-cache"}
    if response.body is not None:
        headers["content-type"] = JSON
    body = response.body or b""
    if response.status != NO_CONTENT:
        headers["content-length"] = str(len(body))
    start_response(_STATUS_LINES[response.status], list(headers.items()))
    return [body] if body else []


def _host_url(environ: dict[str, Any]) -> str:
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    return f"{environ['wsgi.url_scheme']}://{host}"


NO_CONTENT = 204
_STATUS_LINES = {200: "200 OK", 201: "201 Created", NO_CONTENT: "204 No Content"}
