# SPDX-License-Identifier: Apache-2.0
"""Who sends a request."""

import pytest

from scheduler_svc.placement.http.authentication import caller_of, except_open_paths, trust_tokens


def authenticated(**environ):
    """Return the caller that the application sees behind noauth2."""
    callers = []
    trust_tokens(lambda environ, start_response: callers.append(caller_of(environ)) or [])(environ, None)
    (caller,) = callers
    return caller


@pytest.mark.parametrize(
    ("environ", "caller"),
    [
        ({"HTTP_X_AUTH_TOKEN": "admin"}, ("admin", "admin", ("admin",), None)),
        ({"HTTP_X_AUTH_TOKEN": "admin:p"}, ("admin", "p", ("admin",), None)),
        ({"HTTP_X_AUTH_TOKEN": "u:p", "HTTP_X_PROJECT_ID": "q"}, ("u", "q", (), None)),
        ({"HTTP_X_AUTH_TOKEN": "u:p", "HTTP_X_ROLES": "reader, member"}, ("u", "p", ("reader", "member"), None)),
        (
            {"HTTP_X_AUTH_TOKEN": "admin", "HTTP_OPENSTACK_SYSTEM_SCOPE": "all", "HTTP_X_PROJECT_ID": "p"},
            ("admin", None, ("admin",), "all"),
        ),
        ({"HTTP_X_USER_ID": "u", "HTTP_X_ROLES": "admin", "HTTP_X_PROJECT_ID": "p"}, (None, None, (), None)),
    ],
)
def test_token_names_the_caller(environ, caller):
    assert authenticated(**environ) == caller


@pytest.mark.parametrize(
    ("path", "is_authenticated"),
    [("", False), ("/", False), ("/healthz", False), ("/traits", True), ("//", True)],
)
def test_root_and_health_are_served_without_authentication(path, is_authenticated):
    application = except_open_paths(lambda environ, start_response: [b"authenticated"], lambda *_: [b"open"])
    assert application({"PATH_INFO": path}, None) == [b"authenticated" if is_authenticated else b"open"]
