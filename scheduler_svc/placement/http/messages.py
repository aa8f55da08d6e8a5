# SPDX-License-Identifier: Apache-2.0
"""Requests as handlers read them, and responses."""

import functools
import time
import urllib.parse
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, NamedTuple

import jsonschema
import orjson
import webob.acceptparse

from rpcapi.daemon.http_requests import BodyTooLarge
from scheduler_svc.placement.http.schemas import Validator
from scheduler_svc.placement.model.problems import DUPLICATE_PARAMETER, Problem, bad_request

JSON = "application/json"
MAX_BODY = 8 << 20  # bytes
MAX_PARAMETERS = 1000  # of a query string
MAX_QUOTED = 4000  # characters of a validation message, which can quote the whole body

Environ = Mapping[str, Any]


class ApiUser(NamedTuple):
    """Authenticated caller of a request. ``system_scope`` is 'all' for a system-scoped token."""

    user: str | None
    project: str | None
    roles: tuple[str, ...]
    system_scope: str | None = None


class Request:
    """Request of ``caller`` in a microversion; ``id`` is the request id in the response's header."""

    def __init__(self, environ: Environ, version: int, caller: ApiUser, request_id: str) -> None:
        self.environ = environ
        self.version = version
        self.caller = caller
        self.id = request_id

    @property
    def prefix(self) -> str:
        """Path prefix of the API and its links: '', or for example '/placement'."""
        return str(self.environ.get("SCRIPT_NAME", ""))

    @functools.cached_property
    def query(self) -> dict[str, list[str]]:
        """{parameter: values in order} of the query string. Raises Problem 400."""
        raw = self.environ.get("QUERY_STRING", "")
        try:
            return urllib.parse.parse_qs(raw, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
        except ValueError as error:  # includes UnicodeDecodeError
            raise bad_request(f"Invalid query string parameters: {error}") from error

    def parameter(self, name: str) -> str | None:
        """Return the first value of a query parameter, None without it. Raises Problem 400."""
        values = self.query.get(name)
        return None if values is None else values[0]

    def check_query(self, validator: Validator) -> None:
        """Raise Problem 400 unless the query's parameters satisfy the schema."""
        worst = _worst_error(self.query, validator)
        if worst is not None and worst.validator == "maxItems":
            raise bad_request(f"Query parameter {worst.path[0]!r} may be specified only once.", DUPLICATE_PARAMETER)
        _refuse(worst, "Invalid query string parameters")

    def json(self, validator: Validator) -> Any:
        """Return the JSON body. Raises Problem 400 if it violates the schema, 413 if too large."""
        try:
            body = orjson.loads(read_body(self.environ))
        except orjson.JSONDecodeError as error:
            raise bad_request(f"Malformed JSON: {error}") from error
        validate(body, validator)
        return body


def read_body(environ: Environ) -> bytes:
    """Read the body, whose length need not be announced. Raises Problem 400, 408 or 413."""
    length = content_length(environ)
    if length is not None and length > MAX_BODY:
        raise _too_large()
    try:
        body: bytes = environ["wsgi.input"].read(MAX_BODY + 1 if length is None else length)
    except TimeoutError as error:
        raise Problem(408, "The body did not arrive in time.") from error
    except BodyTooLarge as error:
        raise _too_large() from error
    except (OSError, ValueError) as error:
        raise bad_request(f"The body could not be read: {error}") from error
    if len(body) > MAX_BODY:
        raise _too_large()
    return body


def content_length(environ: Environ) -> int | None:
    """Return the announced length of the body, None without one. Raises Problem 400 or 413."""
    text = environ.get("CONTENT_LENGTH")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise bad_request("content-length header must be an integer")
    try:
        return int(text)
    except ValueError as error:  # more digits than Python converts
        raise _too_large() from error


def accepts_json(accept: str) -> bool:
    return accept == JSON or bool(webob.acceptparse.create_accept_header(accept).acceptable_offers([JSON]))


class Response(NamedTuple):
    """Response. ``location`` is a path; ``modified_ms`` is sent in microversions with caching headers."""

    status: int
    body: bytes | None = None
    location: str | None = None
    modified_ms: int | None = None


def json_response(
    document: Any, modified_ms: int | None = None, status: int = 200, location: str | None = None
) -> Response:
    """Return a response with a document and the time of its last change, by default now."""
    return Response(status, orjson.dumps(document), location, now_ms() if modified_ms is None else modified_ms)


def now_ms() -> int:
    return int(time.time() * 1000)


def http_date(time_ms: int) -> str:
    return formatdate(time_ms / 1000, usegmt=True)


def validate(value: Any, validator: Validator) -> None:
    """Raise Problem 400 unless the value satisfies the schema."""
    try:
        _refuse(_worst_error(value, validator), "JSON does not validate")
    except RecursionError as error:
        raise bad_request("JSON does not validate: it is nested too deeply") from error


def _worst_error(value: Any, validator: Validator) -> jsonschema.ValidationError | None:
    return jsonschema.exceptions.best_match(validator.iter_errors(value))


def _refuse(error: jsonschema.ValidationError | None, what: str) -> None:
    if error is not None:
        raise bad_request(f"{what}: {str(error)[:MAX_QUOTED]}")


def _too_large() -> Problem:
    return Problem(413, f"The body is larger than {MAX_BODY} bytes; split the request.")
