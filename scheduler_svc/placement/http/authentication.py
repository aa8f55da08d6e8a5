# SPDX-License-Identifier: Apache-2.0
"""Who sends a request: read from the headers that an authentication sets."""

from collections.abc import Callable, Iterable
from typing import Any

from scheduler_svc.placement.http.messages import Caller, Environ

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]

ADMINISTRATOR = "admin"
HEALTH_PATH = "/healthz"
OPEN_PATHS = ("", "/", HEALTH_PATH)


def caller_of(environ: Environ) -> Caller:
    """Return the caller named by the headers of Keystone's middleware, or of ``trust_tokens``."""
    roles = tuple(role.strip() for role in environ.get("HTTP_X_ROLES", "").split(",") if role.strip())
    project = environ.get("HTTP_X_PROJECT_ID") or environ.get("HTTP_X_TENANT_ID")
    return Caller(environ.get("HTTP_X_USER_ID"), project, roles, environ.get(_SYSTEM_SCOPE))


def trust_tokens(application: Application) -> Application:
    """Return the application behind ``auth_strategy = noauth2``, which believes every token: for development.

    A token is ``user`` or ``user:project``. X-Project-Id names the project instead of the token, and
    OpenStack-System-Scope a request of the system, which has none. X-Roles has the roles; without it the user ``admin``
    has the role of that name.
    """

    def authenticate(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        user, _, project = environ.get("HTTP_X_AUTH_TOKEN", "").partition(":")
        roles = environ.get("HTTP_X_ROLES", ADMINISTRATOR if user == ADMINISTRATOR else "")
        claimed = {name: text for name, text in environ.items() if name not in _IDENTITY}
        if user:
            claimed |= {"HTTP_X_USER_ID": user, "HTTP_X_ROLES": roles}
            if not environ.get(_SYSTEM_SCOPE):
                claimed["HTTP_X_PROJECT_ID"] = environ.get("HTTP_X_PROJECT_ID") or project or user
        return application(claimed, start_response)

    return authenticate


def except_open_paths(authenticated: Application, application: Application) -> Application:
    """Return the application behind an authentication, which the API's root and its health do without."""

    def route(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        return (application if is_open else authenticated)(environ, start_response)

    return route


_SYSTEM_SCOPE = "HTTP_OPENSTACK_SYSTEM_SCOPE"
_IDENTITY = frozenset(("HTTP_X_USER_ID", "HTTP_X_PROJECT_ID", "HTTP_X_TENANT_ID", "HTTP_X_ROLES"))
