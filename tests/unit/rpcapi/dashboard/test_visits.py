# SPDX-License-Identifier: Apache-2.0
"""Cookies of those who have signed in."""

import time

import pytest
from webob import Request, Response

from rpcapi.dashboard.sign_in import Person
from rpcapi.dashboard.visits import Visits

ADA = Person("ada", True)


def begin(visits: Visits, person: Person = ADA) -> str:
    """Return the header Set-Cookie of a person who signs in."""
    response = Response()
    visits.begin(response, Request.blank("/"), person)
    (cookie,) = response.headers.getall("Set-Cookie")
    return cookie


def request(cookie: str) -> Request:
    return Request.blank("/", headers={"Cookie": cookie.partition(";")[0]})


def test_cookie_says_who_it_is() -> None:
    visits = Visits(60, is_secure=False)

    assert visits.find(request(begin(visits))).person == ADA
    assert visits.find(request(begin(visits, Person("bob", False)))).person == Person("bob", False)
    assert visits.find(Request.blank("/")) is None


def test_secure_cookie_is_for_tls_and_this_host_only() -> None:
    cookie = begin(Visits(60, is_secure=True))

    assert cookie.startswith("__Host-gantt_dashboard=")
    assert {"secure", "HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


def test_cookie_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = Visits(60, is_secure=False)
    cookie = begin(visits)
    now = time.time()

    monkeypatch.setattr(time, "time", lambda: now + 61)

    assert visits.find(request(cookie)) is None


@pytest.mark.parametrize("change", [lambda text: text[:-4] + "AAAA", lambda text: "x", lambda text: text.swapcase()])
def test_altered_cookie_is_none(change) -> None:
    visits = Visits(60, is_secure=False)
    name, _, value = begin(visits).partition(";")[0].partition("=")

    assert visits.find(request(f"{name}={change(value)}")) is None


def test_cookie_of_another_start_is_none() -> None:
    assert Visits(60, is_secure=False).find(request(begin(Visits(60, is_secure=False)))) is None


def form(token: str) -> Request:
    return Request.blank("/", POST={"form_token": token})


def test_form_belongs_to_one_visit() -> None:
    visits = Visits(60, is_secure=False)
    first, second = (visits.find(request(begin(visits))) for _ in range(2))

    assert first.sent_form(form(first.form_token))
    assert not second.sent_form(form(first.form_token))
    assert not first.sent_form(form(""))
    assert not first.sent_form(Request.blank("/", POST={}))
    assert not first.sent_form(form("\u00e9"))
