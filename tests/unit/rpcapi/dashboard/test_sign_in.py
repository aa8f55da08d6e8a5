# SPDX-License-Identifier: Apache-2.0
"""Signing in with the token, and as a user of Keystone."""

import http.server
import json
import threading
from collections.abc import Iterator

import pytest
from keystoneauth1 import fixture

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import errors
from rpcapi.dashboard.sign_in import KeystoneSignIn, Person, SignInRefused, TokenSignIn

TOKEN = "a" * 20
OTHERS = ("", TOKEN[:-1], TOKEN + "a", "b" * 20, "\u00e9")
FORM = {"username": "ada", "password": "secret", "project": "ops", "domain": ""}


@pytest.mark.parametrize("may_act", [True, False])
def test_token_opens_the_dashboard(may_act: bool) -> None:
    assert TokenSignIn(TOKEN, may_act=may_act).check({"token": TOKEN}) == Person("operator", may_act)


@pytest.mark.parametrize(
    "form", [{}, {"token": ""}, {"token": TOKEN[:-1]}, {"token": TOKEN + "0"}, {"token": "\u00e9"}]
)
def test_other_tokens_do_not(form: dict[str, str]) -> None:
    with pytest.raises(SignInRefused):
        TokenSignIn(TOKEN, may_act=True).check(form)


@pytest.fixture
def keystone() -> Iterator[http.server.HTTPServer]:
    """A Keystone that knows one user, who has the attribute ``roles``; ``requests`` are the bodies that it got."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.requests.append(body)
            password = body["auth"]["identity"]["password"]["user"]["password"]
            token = fixture.V3Token(user_name="ada", project_name="ops")
            for role in self.server.roles:
                token.add_role(name=role)
            self.send_response(self.server.status or (201 if password == FORM["password"] else 401))
            self.send_header("X-Subject-Token", "token")
            self.end_headers()
            self.wfile.write(json.dumps(token).encode())

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.roles, server.status, server.requests = ["reader"], 0, []
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def sign_in(port: int, *action_roles: str) -> KeystoneSignIn:
    return KeystoneSignIn(f"http://{LOOPBACK}:{port}/v3", "", ["admin", "reader"], action_roles)


@pytest.mark.parametrize(("roles", "may_act"), [(["reader"], False), (["member", "admin"], True)])
def test_roles_in_keystone_decide(keystone: http.server.HTTPServer, roles: list[str], may_act: bool) -> None:
    keystone.roles = roles

    assert sign_in(keystone.server_port, "admin").check(FORM) == Person("ada", may_act)

    scope = keystone.requests[0]["auth"]["scope"]["project"]
    assert scope == {"name": "ops", "domain": {"name": "Default"}}


def test_nobody_may_act_without_action_roles(keystone: http.server.HTTPServer) -> None:
    keystone.roles = ["admin"]

    assert sign_in(keystone.server_port).check(FORM) == Person("ada", False)


def test_user_without_a_role_is_refused(keystone: http.server.HTTPServer) -> None:
    keystone.roles = ["member"]

    with pytest.raises(SignInRefused, match="ada has none of the roles admin, reader"):
        sign_in(keystone.server_port, "admin").check(FORM)


def test_wrong_password_is_refused_without_saying_what_is_wrong(keystone: http.server.HTTPServer) -> None:
    with pytest.raises(SignInRefused, match="does not accept this user, password and project"):
        sign_in(keystone.server_port).check({**FORM, "password": "wrong"})


def test_failed_keystone_is_unavailable(keystone: http.server.HTTPServer) -> None:
    keystone.status = 500

    with pytest.raises(errors.Unavailable, match="Keystone"):
        sign_in(keystone.server_port).check(FORM)


def test_missing_keystone_is_unavailable() -> None:
    with pytest.raises(errors.Unavailable, match="Keystone"):
        sign_in(free_port()).check(FORM)
