# SPDX-License-Identifier: Apache-2.0
"""Timed calls of a server by the benchmark's HTTP client, and the comparison of some answers with the store."""

import contextlib
import json
import os

import pytest

from devstack.lab.placement import floor
from devstack.lab.placement.calls import HttpClient, RequestFailed, ServerCalls, rate
from devstack.lab.placement.cloud import FLAVOR, USED, Cloud
from devstack.lab.placement.floor import application
from devstack.servers.ports import free_port
from rpcapi.cli.command import CommandFailed
from scheduler_svc.placement.http.server import make_server

HOSTS = Cloud(4).flat
CLASSES = {name: {"capacity": 100, "used": 5} for name in FLAVOR}
ANSWER = {"allocation_requests": [{}], "provider_summaries": {HOSTS[0]: {"resources": CLASSES}}}


def calls(port, used):
    return ServerCalls(port, HOSTS, lambda provider: used)


def test_candidates_are_compared_with_the_store():
    with floor.running(json.dumps(ANSWER).encode(), 1) as port:
        assert len(calls(port, dict.fromkeys(FLAVOR, 5)).candidates(0, 3, "/allocation_candidates")) == 3
        with pytest.raises(CommandFailed, match=f"Provider {HOSTS[0]}"):
            calls(port, dict.fromkeys(FLAVOR, 4)).candidates(0, 3, "/allocation_candidates")
        calls(port, {}).candidates(1, 3, "/allocation_candidates")  # the thousandth is the next to be compared


def test_answer_without_candidates_fails():
    empty = b'{"allocation_requests": [], "provider_summaries": {}}'
    with floor.running(empty, 1) as port, pytest.raises(CommandFailed, match="no candidates"):
        calls(port, {}).candidates(0, 1, "/allocation_candidates")


def test_allocation_that_is_acknowledged_and_not_stored_fails():
    with floor.running(b"{}", 1) as port:
        with pytest.raises(CommandFailed, match="is stored"):
            calls(port, USED).allocate(0, 1)
        assert len(calls(port, USED).allocate(1, 5)) == 5


def test_rate_counts_calls_and_processor_time_of_all_clients():
    with floor.running(b"{}", 1) as port:
        measured = rate(port, [os.getpid()], HOSTS, 2, 1.0)
    assert measured["per_s"] >= 1
    # The processes that are counted as servers are this one and what it started, which sent and answered
    server_s = measured["per_s"] / measured["per_processor_s"]
    client_s = measured["per_s"] * measured["client_us"] / 1e6
    assert server_s >= client_s - 0.05


@pytest.fixture
def serve():
    """Serves a WSGI application in this process; returns a connected client."""
    with contextlib.ExitStack() as stack:

        def start(app):
            port = free_port()
            server = make_server(app, "127.0.0.1", port, 2, shutdown_s=5)
            server.start()
            stack.callback(server.wait)
            stack.callback(server.stop)
            client = HttpClient(port)
            stack.callback(client.close)
            return client

        yield start


def test_bodies_of_any_length_are_read_over_one_connection(serve):
    body = bytes(range(256)) * 8_000
    client = serve(application(body))
    assert [client.get("/allocation_candidates") for _ in range(3)] == [body] * 3
    client.put("/allocations/1", b"{}")
    assert client.get("/") == body


def test_request_that_is_answered_with_an_error_is_named(serve):
    def conflict(environ, start_response):
        start_response("409 Conflict", [("Content-Length", "4")])
        return [b"full"]

    client = serve(conflict)
    with pytest.raises(RequestFailed, match=r"PUT /allocations/1 HTTP/1.1 was answered 409: b'full'"):
        client.put("/allocations/1", b"{}")


def test_connection_that_the_server_closes_is_reported(serve):
    def fail(environ, start_response):
        start_response("200 OK", [("Content-Length", "4")])
        yield b"fo"
        raise RuntimeError("the server closes the connection")

    client = serve(fail)
    with pytest.raises(RequestFailed, match=r"GET / HTTP/1.1 was not answered"):
        client.get("/")
