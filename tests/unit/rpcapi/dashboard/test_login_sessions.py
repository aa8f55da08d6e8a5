# SPDX-License-Identifier: Apache-2.0
"""Cookies of those who have signed in."""

import time

import pytest
from webob import Request, Response

from rpcapi.dashboard.sign_in import LoginSessions, Person

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
