# SPDX-License-Identifier: Apache-2.0
"""Caller of a request, from the headers of an authentication middleware."""

from collections.abc import Callable, Iterable
from typing import Any

from scheduler_svc.placement.http.messages import ApiUser, Environ

StartResponse = Callable[..., Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]

ADMINISTRATOR = "admin"
HEALTH_PATH = "/healthz"
OPEN_PATHS = ("", "/", HEALTH_PATH)


def caller_of(environ: Environ) -> ApiUser:
    """Return the caller from the headers that Keystone's middleware or ``trust_tokens`` sets."""
    roles = tuple(role.strip() for role in environ.get("HTTP_X_ROLES", "").split(",") if role.strip())
    project = environ.get("HTTP_X_PROJECT_ID") or environ.get("HTTP_X_TENANT_ID")
    return ApiUser(environ.get("HTTP_X_USER_ID"), project, roles, environ.get(_SYSTEM_SCOPE))


def trust_tokens(application: Application) -> Application:
    """Wrap the application for ``auth_strategy = noauth2``, which accepts any token. For development only.

    A token is ``user`` or ``user:project``; X-Project-Id overrides the project. OpenStack-System-Scope makes a request
    system-scoped. X-Roles lists the roles; user ``admin`` has role ``admin`` by default.
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
    """Require authentication on all paths except the API's root and health check."""

    def route(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        return (application if is_open else authenticated)(environ, start_response)

    return route


_SYSTEM_SCOPE = "HTTP_OPENSTACK_SYSTEM_SCOPE"
_IDENTITY = frozenset(("HTTP_X_USER_ID", "HTTP_X_PROJECT_ID", "HTTP_X_TENANT_ID", "HTTP_X_ROLES"))
