# SPDX-License-Identifier: Apache-2.0
"""The benchmark's HTTP client, against the server that does nothing."""

import contextlib

import pytest

from devstack.lab.placement.calls import HttpClient, RequestFailed
from devstack.lab.placement.floor import application
from devstack.servers.ports import free_port
from scheduler_svc.placement.http.server import make_server


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
