# SPDX-License-Identifier: Apache-2.0
"""WSGI application: sign-in, routing and errors."""

import mimetypes
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIEnvironment

import jinja2
import oslo_messaging as messaging
from oslo_log import log
from webob import Request, Response

from rpcapi import errors
from rpcapi.admin.error_messages import describe_error
from rpcapi.admin.session import Session
from rpcapi.dashboard.pages import BadInput, Page, PageNotFound, PageRequest, PageRoute
from rpcapi.dashboard.sign_in import MAX_FIELD, LoginSession, LoginSessions, SignIn, SignInRefused

LOG = log.getLogger(__name__)

# Pages load from and call this server only, cannot be framed, and contain no inline scripts or styles.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
HSTS = "max-age=31536000"
STATIC = re.compile(r"/static/([a-z_]+\.(?:css|js|svg))")
STATIC_SECONDS = 300
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
READ = ("GET", "HEAD")
FORM = "application/x-www-form-urlencoded"
FAILED = 500
# HTTP status by kind of error; the first match counts.
STATUSES: dict[type[Exception], int] = {
    UnicodeDecodeError: 400,
    BadInput: 400,
    PageNotFound: 404,
    errors.CallerRefused: 403,
    errors.UnknownMethod: 503,  # the service is not upgraded yet
    errors.InvalidRequest: 400,
    errors.NotFound: 404,
    errors.Unavailable: 503,
    errors.GanttError: 409,
    messaging.MessagingException: 503,
}


class Dashboard:
    """WSGI application; all requests share the clients of ``session``."""

    def __init__(
        self,
        session: Session,
        routes: Sequence[PageRoute],
        sign_in: SignIn,
        logins: LoginSessions,
        templates: jinja2.Environment,
        *,
        is_secure: bool,
    ) -> None:
        self._session = session
        self._routes = routes
        self._sign_in = sign_in
        self._logins = logins
        self._templates = templates
        self._headers = {**HEADERS, **({"Strict-Transport-Security": HSTS} if is_secure else {})}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        response = self._answer(request)
        for name, value in self._headers.items():
            response.headers.setdefault(name, value)
        # WebOb would prepend the scheme and name under which a proxy calls this server.
        location = response.headers.pop("Location", None)

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, headers if location is None else [*headers, ("Location", location)], exc_info)

        answer: Iterable[bytes] = response(environ, start)
        return answer

    def _answer(self, request: Request) -> Response:
        login = None
        try:
            if match := STATIC.fullmatch(request.path_info):
                return _static(match[1])
            login = self._logins.find(request)
            return self._serve_login(request, login)
        except Exception as error:
            status, why = _describe(error)
            if status == FAILED:
                LOG.exception("%s %r failed", request.method, request.path_info)
            return self._error(login, status, why)

    def _serve_login(self, request: Request, login: LoginSession | None) -> Response:
        if request.method not in READ:
            _require_form(request)
            _require_same_origin(request)
        if request.path_info == SIGN_IN:
            return self._serve_sign_in(request, login)
        if login is None:
            return _redirect(f"{SIGN_IN}?next={quote(request.path_qs, safe='')}")
        if request.path_info == SIGN_OUT and request.method == "POST":
            return self._serve_sign_out(request, login)
        return self._serve(request, login)

    def _serve(self, request: Request, login: LoginSession) -> Response:
        methods = set()
        for route in self._routes:
            match = re.fullmatch(route.pattern, request.path_info)
            if match is None:
                continue
            methods.add(route.method)
            if request.method == route.method or (request.method == "HEAD" and route.method == "GET"):
                if route.method == "POST" and not login.has_csrf_token(request):
                    return self._error(login, 403, "This form belongs to another session. Reload the page.")
                page_request = PageRequest(request, login, self._session.for_request(login.person.user_id))
                answer = route.handler(page_request, **match.groupdict())
                return self._render(login, answer) if isinstance(answer, Page) else answer
        if methods:
            response = self._error(login, 405, f"{request.method} is not possible here.")
            response.headers["Allow"] = ", ".join(sorted(methods))
            return response
        raise PageNotFound(f"There is no page {request.path_info[:80]}.")

    def _serve_sign_in(self, request: Request, login: LoginSession | None) -> Response:
        target = _local(request.GET.get("next", "/"))
        if request.method in READ:
            if login is not None:
                return _redirect(target)
            return self._sign_in_page(target)
        form = {name: str(request.POST.get(name, ""))[:MAX_FIELD] for name, _, _ in self._sign_in.fields}
        try:
            person = self._sign_in.check(form)
        except SignInRefused as refusal:
            LOG.warning("Refused a sign-in of %r from %s", form.get("username", ""), request.remote_addr)
            return self._sign_in_page(target, 401, str(refusal))
        except errors.Unavailable as error:
            return self._sign_in_page(target, 503, error.sentence)
        LOG.info("%s signed in from %s", person.name, request.remote_addr)
        response = _redirect(target)
        self._logins.begin(response, request, person)
        return response

    def _serve_sign_out(self, request: Request, login: LoginSession) -> Response:
        if not login.has_csrf_token(request):
            return self._error(login, 403, "This form belongs to another session. Reload the page.")
        response = _redirect(SIGN_IN)
        self._logins.end(response, request, login)
        return response

    def _sign_in_page(self, target: str, status: int = 200, why: str = "") -> Response:
        values = {"fields": self._sign_in.fields, "target": target, "why": why}
        return self._render(None, Page("sign_in.html", values, status))

    def _error(self, login: LoginSession | None, status: int, why: str) -> Response:
        return self._render(login, Page("error.html", {"status": status, "why": why}, status))

    def _render(self, login: LoginSession | None, page: Page) -> Response:
        template = self._templates.get_template(page.template)
        text = template.render(**page.values, login=login)
        return Response(text, status=page.status, content_type="text/html", charset="UTF-8")


def _describe(error: Exception) -> tuple[int, str]:
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), FAILED)
    if status == FAILED:
        return status, "This page failed; the log of gantt-dashboard says why."
    is_remote = isinstance(error, errors.GanttError | messaging.MessagingException)
    return status, describe_error(error) if is_remote else str(error)


def _static(name: str) -> Response:
    file = resources.files("rpcapi.dashboard") / "static" / name
    if not file.is_file():
        raise PageNotFound(f"There is no file {name}.")
    response = Response(file.read_bytes(), content_type=mimetypes.guess_type(name)[0] or "text/plain")
    response.cache_control = f"max-age={STATIC_SECONDS}"
    return response


def _redirect(location: str) -> Response:
    return Response(status=303, headers={"Location": location})


def _local(target: str) -> str:
    """Return ``target`` if it is a local path, otherwise "/": the link may be forged."""
    is_local = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if is_local and target.isascii() and target.isprintable() else "/"


def _require_form(request: Request) -> None:
    """Raise BadInput for a body that no page sends, such as a file."""
    if request.content_type != FORM:
        raise BadInput(f"The body of a {request.method} must be a form ({FORM}).")


def _require_same_origin(request: Request) -> None:
    """Raise BadInput for a form of another site; without an origin, the CSRF token protects."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        is_same = site in ("same-origin", "none")
    else:
        is_same = origin is None or origin.partition("://")[2].lower() == request.host.lower()
    if not is_same:
        raise BadInput("This form was sent by a page of another site.")
