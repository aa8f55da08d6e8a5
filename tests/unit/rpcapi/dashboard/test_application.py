# SPDX-License-Identifier: Apache-2.0
"""The application's answers to failed handlers and to requests that no page sends, and pages without any host."""

import logging
from types import SimpleNamespace
from urllib.parse import urlencode

import oslo_messaging as messaging
import pytest
from webob import Request, Response

from rpcapi import errors
from rpcapi.admin.migrations import CopyProgress
from rpcapi.dashboard import application, host_list, rendering
from rpcapi.dashboard.application import Dashboard
from rpcapi.dashboard.cached import Cached
from rpcapi.dashboard.pages import Page, PageRoute
from rpcapi.dashboard.service import make_routes
from rpcapi.dashboard.sign_in import LoginSessions, Person, TokenSignIn

TOKEN = "a" * 20
SESSION = SimpleNamespace(for_request=lambda user: SimpleNamespace(user=user))


class Visitor:
    """A browser of an application with some routes, signed in."""

    def __init__(self, routes: list[PageRoute], *, is_secure: bool = False) -> None:
        logins = LoginSessions(60, is_secure=is_secure)
        sign_in = TokenSignIn(TOKEN, may_act=True)
        self.app = Dashboard(SESSION, routes, sign_in, logins, rendering.environment(), is_secure=is_secure)
        response, request = Response(), Request.blank("/")
        logins.begin(response, request, Person("ada@Default", "ada", True))
        self._cookie = response.headers["Set-Cookie"].partition(";")[0]

    def send(self, path: str, **options: object) -> Response:
        request = Request.blank(path, **options)
        request.headers["Cookie"] = self._cookie
        return request.get_response(self.app)


def failing(error: Exception) -> list[PageRoute]:
    def fail(call):
        raise error

    return [PageRoute("GET", "/page", fail)]


@pytest.mark.parametrize(
    ("error", "status", "why"),
    [
        (errors.CallerRefused(caller="user 'reader'", service="s", method="m", why="no"), 403, "reader"),
        (errors.InvalidRequest(why="wrong"), 400, "wrong"),
        (errors.UnknownHost(name="h9"), 404, "h9"),
        (errors.StoreUnavailable(partition="p", why="away"), 503, "away"),
        (errors.HostInUse(message="still has claims"), 409, "still has claims"),
        (messaging.MessagingTimeout("call"), 503, "No reply in time"),
        (errors.UnknownMethod(method="m", topic="t", version="1.0"), 503, ""),
        (ZeroDivisionError("a secret"), 500, "the log of gantt-dashboard says why"),
    ],
)
def test_failed_handler_is_a_page_with_its_status(error: Exception, status: int, why: str) -> None:
    answer = Visitor(failing(error)).send("/page")

    assert answer.status_int == status
    assert why in answer.text
    assert "a secret" not in answer.text
    assert answer.headers["Content-Security-Policy"]


def test_unexpected_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger=application.LOG.logger.name):
        Visitor(failing(ZeroDivisionError("a secret"))).send("/page")

    assert "GET '/page' failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_calls_are_in_the_name_of_the_person() -> None:
    users = []
    visitor = Visitor([PageRoute("GET", "/page", lambda request: users.append(request.session.user) or Response("ok"))])

    assert visitor.send("/page").text == "ok"
    assert visitor.send("/page", method="HEAD").body == b""
    assert users == ["ada", "ada"]


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/json", "text/plain", ""])
def test_only_forms_are_read(kind: str) -> None:
    answer = Visitor([]).send("/sign-out", method="POST", body=b"x=1", content_type=kind)

    assert answer.status_int == 400
    assert "must be a form" in answer.text


def test_other_methods_are_refused_with_those_that_are_possible() -> None:
    visitor = Visitor([PageRoute("GET", "/page", lambda request: Response("ok"))])

    answer = visitor.send("/page", method="DELETE", content_type=application.FORM)

    assert (answer.status_int, answer.headers["Allow"]) == (405, "GET")


def test_browsers_stay_on_tls() -> None:
    assert Visitor([], is_secure=True).send("/x").headers["Strict-Transport-Security"] == application.HSTS
    assert "Strict-Transport-Security" not in Visitor([]).send("/x").headers


def test_missing_value_of_a_template_is_an_error() -> None:
    visitor = Visitor([PageRoute("GET", "/page", lambda request: Page("error.html", {}))])

    assert visitor.send("/page").status_int == 500


def test_cluster_without_hosts_has_pages() -> None:
    empty = host_list.HostList({"p": host_list.PartitionHosts((1, 1))})
    cluster = SimpleNamespace(hosts=Cached(lambda: empty, 10), refresh_interval=10)
    visitor = Visitor(make_routes(cluster, None, None))

    assert "No host fits." in visitor.send("/hosts").text
    assert visitor.send("/heat-map").json["names"] == []
    assert visitor.send("/hosts/h1").status_int == 404


def test_overview_names_the_hosts_that_are_awaited() -> None:
    host = host_list.Host("h1/n1", "h1/n1", "p", host_list.AWAITED, [], [], {})
    listed = host_list.HostList({"p": host_list.PartitionHosts((7, 1), [host])})
    partition = SimpleNamespace(names=["p"], available=[True], epochs=[7], positions=[1], claims=[None])
    reads = {"hosts": listed, "partitions": partition, "decisions": {}}
    parts = {name: Cached(lambda value=value: value, 10) for name, value in reads.items()}
    cluster = SimpleNamespace(migrations=list, **parts)

    text = Visitor(make_routes(cluster, None, None)).send("/").text

    assert '<a href="#awaited"><strong>1</strong> awaiting audit' in text
    awaited = text.partition('<h2 id="awaited">')[2].partition("</section>")[0]
    assert "they take no new servers" in awaited
    assert '<a href="/hosts/h1/n1">h1/n1</a>' in awaited


def test_migration_under_way_shows_what_is_left_to_copy() -> None:
    hosts = {"source_host": "h1/n1", "destination_host": "h2/n1"}
    states = {"kind": "live", "status": "copying", "updated_ms": 1, "reason": None}
    migration = SimpleNamespace(uuid="m1", instance="s1", **hosts, **states)
    progress = {"m1": CopyProgress("copy", 512, 128, 384)}
    cluster = SimpleNamespace(migrations=lambda: [migration], progress=lambda: progress)

    text = Visitor(make_routes(cluster, None, None)).send("/migrations").text

    assert '<progress max="512" value="384" aria-label="Copied">' in text
    assert "copy, 128 MiB left" in text


def test_redirects_name_no_server_as_a_proxy_has_another_name() -> None:
    visitor = Visitor([], is_secure=True)
    sign_in = {"token": TOKEN}

    answer = Request.blank("/sign-in?next=/hosts", POST=sign_in, base_url="http://127.0.0.1:8780").get_response(
        visitor.app
    )

    assert (answer.status_int, answer.headers["Location"]) == (303, "/hosts")


@pytest.mark.parametrize(
    "target", ["//[x", "https://example.org", "/\\example.org", "/\u65e5", "/a\nb", "x", "//example.org"]
)
def test_sign_in_goes_on_to_paths_of_this_server_only(target: str) -> None:
    request = Request.blank("/sign-in", POST={"token": TOKEN})
    request.query_string = urlencode({"next": target})

    assert request.get_response(Visitor([]).app).headers["Location"] == "/"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Origin": "http://localhost"}, 401),
        ({"Origin": "http://LOCALHOST"}, 401),
        ({"Origin": "https://example.org"}, 400),
        ({"Origin": "https://[x"}, 400),
        ({"Origin": "null"}, 400),
        ({"Origin": "https://dashboard.example.org", "Sec-Fetch-Site": "same-origin"}, 401),
        ({"Sec-Fetch-Site": "cross-site"}, 400),
        ({"Sec-Fetch-Site": "same-site"}, 400),
    ],
)
def test_forms_of_other_sites_are_refused(headers: dict[str, str], status: int) -> None:
    request = Request.blank("/sign-in", POST={"token": "wrong"}, headers=headers)
    request.host = "localhost"

    assert request.get_response(Visitor([]).app).status_int == status


def test_signed_in_browser_is_led_on_from_the_form() -> None:
    answer = Visitor([]).send("/sign-in?next=/claims")

    assert (answer.status_int, answer.headers["Location"]) == (303, "/claims")
