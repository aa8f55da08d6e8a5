# SPDX-License-Identifier: Apache-2.0
"""The proxy between two servers of the API: clients get the first one's answers, the second one gets the writes."""

import contextlib
import http.client
import io
import json

import pytest

from devstack.servers.ports import free_port
from scheduler_svc.placement.http.authentication import trust_tokens
from scheduler_svc.placement.http.messages import MAX_BODY, BodyTooLarge
from scheduler_svc.placement.http.server import make_server
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.exchanges import ProxiedResponse
from scheduler_svc.placement.shadow.mirror import Mirror
from scheduler_svc.placement.shadow.proxy import ShadowProxy
from scheduler_svc.shadow_report import ShadowReport
from tests.support.scheduler.placement import PlacementApi

SECONDS = 30
UUID = "11111111-2222-3333-4444-555555555555"


class ShadowedApi:
    """A client of the proxy, and the two ends."""

    def __init__(self, stack):
        self.placement, self.gantt = PlacementApi(), PlacementApi()
        ends = [HttpServerAt(self._serve(stack, trust_tokens(end.application)), SECONDS, 2) for end in self._ends()]
        self.mirror = Mirror(ends[1], 100, ShadowReport(3600))
        self.mirror.start()
        stack.callback(self.mirror.wait)
        stack.callback(self.mirror.stop)
        self.port = self._start(stack, ShadowProxy(ends[0], self.mirror))
        for end in ends:
            stack.callback(end.close)

    def call(self, method, path, body=None, version="1.39"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {version}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def _ends(self):
        return self.placement, self.gantt

    def _serve(self, stack, application):
        return f"http://127.0.0.1:{self._start(stack, application)}"

    @staticmethod
    def _start(stack, application):
        port = free_port()
        server = make_server(application, "127.0.0.1", port, 2, shutdown_s=SECONDS)
        server.start()
        stack.callback(server.wait)
        stack.callback(server.stop)
        return port


@pytest.fixture
def shadowed():
    with contextlib.ExitStack() as stack:
        yield ShadowedApi(stack)


def test_acknowledged_writes_reach_both_ends(shadowed):
    response, _ = shadowed.call("POST", "/resource_providers", {"name": "host 1", "uuid": UUID})
    assert response.status == 200
    assert shadowed.call("POST", "/resource_providers", {"name": "host 1", "uuid": UUID})[0].status == 409
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    path = f"/resource_providers/{UUID}/inventories"
    assert shadowed.call("PUT", path, inventories)[0].status == 200
    assert shadowed.mirror.drain(SECONDS)
    answers = [end.call("GET", path).json for end in (shadowed.placement, shadowed.gantt)]
    assert answers[0] == answers[1]
    assert answers[0]["inventories"]["VCPU"]["total"] == 4


def test_client_gets_the_answer_of_placement_unchanged(shadowed):
    shadowed.call("PUT", "/traits/CUSTOM_ONLY_HERE")
    assert shadowed.mirror.drain(SECONDS)
    shadowed.gantt.call("DELETE", "/traits/CUSTOM_ONLY_HERE")
    response, body = shadowed.call("GET", "/traits?name=startswith:CUSTOM_")
    assert json.loads(body) == {"traits": ["CUSTOM_ONLY_HERE"]}
    assert response.getheader("openstack-api-version") == "placement 1.39"
    assert response.getheader("last-modified")
    response, body = shadowed.call("POST", "/resource_providers", {"name": "snow \N{SNOWMAN}", "uuid": UUID})
    assert (response.status, json.loads(body)["name"]) == (200, "snow \N{SNOWMAN}")
    response, body = shadowed.call("DELETE", f"/resource_providers/{UUID}")
    assert (response.status, body) == (204, b"")


@pytest.mark.parametrize(("version", "status"), [("1.0", 201), ("1.39", 200)])
def test_provider_without_a_uuid_gets_the_same_one_at_both_ends(shadowed, version, status):
    body = {"name": "snow \N{SNOWMAN}"}
    assert shadowed.call("POST", "/resource_providers", body, version)[0].status == status
    assert shadowed.mirror.drain(SECONDS)
    answers = [end.call("GET", "/resource_providers").json for end in (shadowed.placement, shadowed.gantt)]
    assert answers[0] == answers[1]
    assert [provider["name"] for provider in answers[0]["resource_providers"]] == [body["name"]]


def test_body_in_chunks_reaches_both_ends(shadowed):
    text = json.dumps({"name": "host 1", "uuid": UUID}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", shadowed.port, timeout=SECONDS)
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39", "Content-Type": "application/json"}
    connection.request("POST", "/resource_providers", iter([text[:5], text[5:]]), headers, encode_chunked=True)
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["name"]) == (200, "host 1")
    connection.close()
    assert shadowed.mirror.drain(SECONDS)
    assert shadowed.gantt.call("GET", f"/resource_providers/{UUID}").json["name"] == "host 1"


@pytest.mark.parametrize("chunked", [True, False])
def test_body_that_is_too_large_is_refused_in_the_form_of_the_api(shadowed, chunked):
    connection = http.client.HTTPConnection("127.0.0.1", shadowed.port, timeout=SECONDS)
    body = b"x" * (MAX_BODY + 1)
    headers = {"Content-Type": "application/json"}
    with contextlib.suppress(ConnectionError):  # it is answered before all of it is sent
        connection.request("POST", "/allocations", iter([body]) if chunked else body, headers, encode_chunked=chunked)
    response = connection.getresponse()
    (error,) = json.loads(response.read())["errors"]
    assert (response.status, error["status"]) == (413, 413)
    assert error["detail"] and error["code"]
    connection.close()


def test_difference_is_logged(shadowed, caplog):
    shadowed.placement.call("PUT", "/traits/CUSTOM_ONLY_HERE")
    shadowed.call("GET", "/traits?name=startswith:CUSTOM_")
    assert shadowed.mirror.drain(SECONDS)
    (message,) = [record.getMessage() for record in caplog.records if "CUSTOM_ONLY_HERE" in record.getMessage()]
    assert message.startswith("GET /traits?name=startswith:CUSTOM_: /traits: 1 entries, gantt has 0;")


def test_client_notices_nothing_when_gantt_is_away():
    with contextlib.ExitStack() as stack:
        placement = PlacementApi()
        port = ShadowedApi._start(stack, trust_tokens(placement.application))
        away = HttpServerAt(f"http://127.0.0.1:{free_port()}", 1, 1)
        mirror = Mirror(away, 1, ShadowReport(3600))
        mirror.start()
        stack.callback(mirror.wait)
        stack.callback(mirror.stop)
        proxy = ShadowedApi._start(stack, ShadowProxy(HttpServerAt(f"http://127.0.0.1:{port}", SECONDS, 2), mirror))
        client = ShadowedApi.__new__(ShadowedApi)
        client.port = proxy
        for number in range(5):
            assert client.call("PUT", f"/traits/CUSTOM_{number}")[0].status == 201
    assert len(placement.call("GET", "/traits?name=startswith:CUSTOM_").json["traits"]) == 5


def test_placement_that_does_not_answer_is_a_bad_gateway_in_the_form_of_the_api(shadowed):
    with contextlib.ExitStack() as stack:
        away = HttpServerAt(f"http://127.0.0.1:{free_port()}", 1, 1)
        shadowed.port = ShadowedApi._start(stack, ShadowProxy(away, shadowed.mirror))
        response, body = shadowed.call("PUT", "/traits/CUSTOM_A")
    assert response.status == 502
    (error,) = json.loads(body)["errors"]
    assert error["code"] == "placement.undefined_code" and error["detail"]
    assert shadowed.mirror.drain(SECONDS)
    assert shadowed.gantt.call("GET", "/traits/CUSTOM_A").status == 404


@pytest.mark.parametrize(("error", "status"), [(TimeoutError, 408), (BodyTooLarge, 413), (ConnectionError, 400)])
def test_request_whose_body_does_not_come_is_passed_on_to_nobody(error, status):
    class Body:
        def read(self, size):
            raise error

    received = {}
    environ = {"REQUEST_METHOD": "PUT", "PATH_INFO": "/traits/CUSTOM_A", "wsgi.input": Body()}
    body = ShadowProxy(None, None)(environ, lambda line, headers: received.update(headers, status=int(line[:3])))
    assert (received["status"], received["Content-Type"]) == (status, "application/json")
    (problem,) = json.loads(b"".join(body))["errors"]
    assert problem["status"] == status and problem["detail"]


def test_request_and_redirection_are_passed_on_as_they_came():
    requests = []

    def redirect(environ, start_response):
        requests.append(environ)
        headers = [("Location", "/elsewhere"), ("Content-Length", "4"), ("Upgrade", "h2c"), ("X-Hop", "1")]
        start_response("302 Found", [*headers, ("Connection", "x-hop, Keep-Alive")])
        return [b"gone"]

    with contextlib.ExitStack() as stack:
        ends = [f"http://127.0.0.1:{ShadowedApi._start(stack, redirect)}/placement/" for _ in range(2)]
        mirror = Mirror(HttpServerAt(ends[1], SECONDS, 1), 10, ShadowReport(3600))
        port = ShadowedApi._start(stack, ShadowProxy(HttpServerAt(ends[0], SECONDS, 1), mirror))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        headers = {
            "Accept-Encoding": "gzip",
            "Keep-Alive": "5",
            "X-Auth-Token": "t",
            "Connection": "keep-alive, X-Hop",
            "X-Hop": "1",
        }
        connection.request("GET", "/traits/a%20b%2fc/%2525?name=in:A%2CB&name=", headers=headers)
        response = connection.getresponse()
        assert (response.status, response.getheader("location"), response.read()) == (302, "/elsewhere", b"gone")
        assert response.headers.get_all("content-length") == ["4"] and response.getheader("upgrade") is None
        assert response.getheader("x-hop") is None
        connection.close()
    (environ,) = requests
    assert environ["REQUEST_URI"] == "/placement/traits/a%20b%2Fc/%2525?name=in:A%2CB&name="
    assert (environ["PATH_INFO"], environ["QUERY_STRING"]) == ("/placement/traits/a b%2Fc/%25", "name=in:A%2CB&name=")
    assert (environ["HTTP_ACCEPT_ENCODING"], environ["HTTP_X_AUTH_TOKEN"]) == ("identity", "t")
    assert "HTTP_KEEP_ALIVE" not in environ and "HTTP_X_HOP" not in environ


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("DELETE", 204)])
def test_answer_without_a_body_announces_no_length(method, status):
    class Placement:
        def send(self, request):
            return ProxiedResponse(status, [], b"")

    received = {}
    environ = {"REQUEST_METHOD": method, "PATH_INFO": "/traits", "wsgi.input": io.BytesIO()}
    proxy = ShadowProxy(Placement(), Mirror(Placement(), 10, ShadowReport(3600)))
    body = proxy(environ, lambda line, headers: received.update(headers, status=int(line[:3])))
    assert (received, b"".join(body)) == ({"status": status}, b"")
