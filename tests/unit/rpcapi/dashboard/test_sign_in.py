# SPDX-License-Identifier: Apache-2.0
"""Signing in with the token or as a user of Keystone, and cookies of people who have signed in."""

import http.server
import json
import threading
import time
from collections.abc import Iterator

import pytest
from keystoneauth1 import fixture
from oslo_config import cfg
from webob import Request, Response

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import errors
from rpcapi.conf import dashboard, register_groups
from rpcapi.dashboard.sign_in import MAX_PARALLEL, KeystoneSignIn, LoginSessions, Person, SignInRefused, TokenSignIn

TOKEN = "a" * 20
FORM = {"username": "ada", "password": "secret", "domain": ""}


@pytest.mark.parametrize("may_act", [True, False])
def test_token_opens_the_dashboard(may_act: bool) -> None:
    assert TokenSignIn(TOKEN, may_act=may_act).check({"token": TOKEN}) == Person("operator", "operator", may_act)


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
            self.server.gate.wait(10)
            password = body["auth"]["identity"]["password"]["user"]["password"]
            token = fixture.V3Token(user_id=self.server.user_id, user_name="ada", project_name="ops")
            for role in self.server.roles:
                token.add_role(name=role)
            self.send_response(self.server.status or (201 if password == FORM["password"] else 401))
            self.send_header("X-Subject-Token", "token")
            self.end_headers()
            self.wfile.write(json.dumps(token).encode())

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.roles, server.status, server.requests, server.user_id = ["reader"], 0, [], "id-1"
    server.gate = threading.Event()
    server.gate.set()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def sign_in(port: int, *action_roles: str, actions: bool = True) -> KeystoneSignIn:
    conf = cfg.ConfigOpts()
    register_groups(conf, dashboard)
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    values = {"auth_url": f"http://{LOOPBACK}:{port}/v3", "project_name": "ops", "actions": actions}
    for name, value in {**values, "action_roles": list(action_roles)}.items():
        conf.set_override(name, value, group=dashboard.GROUP)
    return KeystoneSignIn(conf.dashboard)


@pytest.mark.parametrize(("roles", "may_act"), [(["reader"], False), (["member", "admin"], True)])
def test_roles_in_the_operators_project_decide(
    keystone: http.server.HTTPServer, roles: list[str], may_act: bool
) -> None:
    keystone.roles = roles

    person = sign_in(keystone.server_port, "admin").check({**FORM, "project": "a tenant's"})

    assert (person.name, person.may_act) == ("ada@Default", may_act)
    assert person.user_id == keystone.user_id
    scope = keystone.requests[0]["auth"]["scope"]["project"]
    assert scope == {"name": "ops", "domain": {"name": "Default"}}


def test_nobody_may_act_without_the_switch(keystone: http.server.HTTPServer) -> None:
    keystone.roles = ["admin"]

    assert not sign_in(keystone.server_port, "admin", actions=False).check(FORM).may_act


def test_user_without_a_role_is_refused(keystone: http.server.HTTPServer) -> None:
    keystone.roles = ["member"]

    with pytest.raises(SignInRefused, match="ada has none of the roles admin, reader"):
        sign_in(keystone.server_port, "admin").check(FORM)


def test_wrong_password_is_refused_without_saying_what_is_wrong(keystone: http.server.HTTPServer) -> None:
    with pytest.raises(SignInRefused, match="rejected this user and password, or the user has no role"):
        sign_in(keystone.server_port).check({**FORM, "password": "wrong"})


def test_failed_keystone_is_unavailable(keystone: http.server.HTTPServer) -> None:
    keystone.status = 500

    with pytest.raises(errors.Unavailable, match="Keystone"):
        sign_in(keystone.server_port).check(FORM)


def test_missing_keystone_is_unavailable_and_its_address_is_not_shown() -> None:
    port = free_port()

    with pytest.raises(errors.Unavailable, match="Keystone") as caught:
        sign_in(port).check(FORM)
    assert str(port) not in str(caught.value)


def test_sign_ins_that_wait_for_keystone_are_few(keystone: http.server.HTTPServer) -> None:
    keystone.gate.clear()
    way = sign_in(keystone.server_port)
    waiting = [threading.Thread(target=way.check, args=(FORM,)) for _ in range(MAX_PARALLEL)]
    for thread in waiting:
        thread.start()
    while len(keystone.requests) < MAX_PARALLEL:
        time.sleep(0.01)

    with pytest.raises(errors.Unavailable, match="too many sign-ins"):
        way.check(FORM)

    keystone.gate.set()
    for thread in waiting:
        thread.join(10)
    assert way.check(FORM).name == "ada@Default"


ADA = Person("ada@Default", "id-1", True)
BOB = Person("bob@Default", "id-2", False)


def begin(logins: LoginSessions, person: Person = ADA) -> str:
    """Return the header Set-Cookie of a person who signs in."""
    response = Response()
    logins.begin(response, Request.blank("/"), person)
    (cookie,) = response.headers.getall("Set-Cookie")
    return cookie


def request(cookie: str) -> Request:
    return Request.blank("/", headers={"Cookie": cookie.partition(";")[0]})


def test_cookie_says_who_it_is() -> None:
    logins = LoginSessions(60, is_secure=False)

    assert logins.find(request(begin(logins))).person == ADA
    assert logins.find(request(begin(logins, BOB))).person == BOB
    assert logins.find(Request.blank("/")) is None


def test_secure_cookie_is_for_tls_and_this_host_only() -> None:
    cookie = begin(LoginSessions(60, is_secure=True))

    assert cookie.startswith("__Host-gantt_dashboard=")
    assert {"secure", "HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


def test_cookie_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    logins = LoginSessions(60, is_secure=False)
    cookie = begin(logins)
    now = time.time()

    monkeypatch.setattr(time, "time", lambda: now + 61)

    assert logins.find(request(cookie)) is None


@pytest.mark.parametrize("change", [lambda text: text[:-4] + "AAAA", lambda text: "x", lambda text: text.swapcase()])
def test_altered_cookie_is_none(change) -> None:
    logins = LoginSessions(60, is_secure=False)
    name, _, value = begin(logins).partition(";")[0].partition("=")

    assert logins.find(request(f"{name}={change(value)}")) is None


def test_cookie_of_another_start_is_none() -> None:
    assert LoginSessions(60, is_secure=False).find(request(begin(LoginSessions(60, is_secure=False)))) is None


def form(token: str) -> Request:
    return Request.blank("/", POST={"csrf_token": token})


def test_form_belongs_to_one_session() -> None:
    logins = LoginSessions(60, is_secure=False)
    first, second = (logins.find(request(begin(logins))) for _ in range(2))

    assert first.has_csrf_token(form(first.csrf_token))
    assert not second.has_csrf_token(form(first.csrf_token))
    assert not first.has_csrf_token(form(""))
    assert not first.has_csrf_token(Request.blank("/", POST={}))
    assert not first.has_csrf_token(form("\u00e9"))


def test_copy_of_an_ended_session_is_none() -> None:
    logins = LoginSessions(60, is_secure=False)
    other, ended = request(begin(logins)), request(begin(logins))

    logins.end(Response(), ended, logins.find(ended))

    assert logins.find(ended) is None
    assert logins.find(other).person == ADA
