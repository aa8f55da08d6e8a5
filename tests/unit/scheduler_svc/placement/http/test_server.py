# SPDX-License-Identifier: Apache-2.0
"""The HTTP server on a real socket."""

import http.client
import json
import socket
import struct
import threading
import time

import pytest

from devstack.servers.ports import free_port
from rpcapi import errors
from scheduler_svc.placement.http.server import make_server

SECONDS = 30


class Application:
    """Answers each request once ``released`` is set."""

    def __init__(self):
        self.released = threading.Event()
        self.released.set()
        self.began = threading.Event()

        self.closed = threading.Event()

    def __call__(self, environ, start_response):
        self.began.set()
        assert self.released.wait(SECONDS)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("200 OK", [("content-length", str(len(body)))])
        return Closing([body], self.closed)


class Closing(list):
    """A body that sets an event when it is closed."""

    def __init__(self, chunks, closed):
        super().__init__(chunks)
        self.close = closed.set


@pytest.fixture
def application():
    return Application()


@pytest.fixture
def port(application):
    number = free_port()
    server = make_server(application, "127.0.0.1", number, threads=2, shutdown_s=SECONDS)
    server.start()
    application.stop = server.stop
    yield number
    server.stop()
    server.wait()


def send(port, raw):
    """Send bytes, and return the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(raw)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, response.getheader("content-type"), response.read()


def test_body_of_an_answer_is_closed_although_the_client_has_gone(application, port):
    application.released.clear()
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets it
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert application.began.wait(SECONDS)
    connection.close()
    application.released.set()
    assert application.closed.wait(SECONDS)


@pytest.mark.parametrize("pieces", [[b"GET / HTTP/1.1\r\nHost: a\r\n", b"\r\n"], [b"\r\n", b"GET / HTTP/1.1\r\n\r\n"]])
def test_header_may_come_in_pieces(port, pieces):
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.05)
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200


def test_requests_that_come_together_are_answered_in_order(port):
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(b"".join(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n%d" % n for n in range(5)))
        answers = b""
        while not answers.endswith(b"\r\n\r\n4"):
            part = connection.recv(4096)
            assert part, answers
            answers += part
    bodies = [answer.rpartition(b"\r\n\r\n")[2] for answer in answers.split(b"HTTP/1.1 200 ")[1:]]
    assert bodies == [b"%d" % number for number in range(5)]


def test_body_reaches_the_application(port):
    assert send(port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")[::2] == (200, b"abc")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: moose\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nLong: " + b"a" * 70_000 + b"\r\n\r\n", 413),
    ],
)
def test_request_that_the_server_refuses_gets_a_json_error(port, raw, status):
    answered, content_type, body = send(port, raw)
    assert (answered, content_type) == (status, "application/json")
    (error,) = json.loads(body)["errors"]
    assert error["status"] == status
    assert error["detail"] and error["code"] == "placement.undefined_code"


def test_stop_answers_what_was_read(application, port):
    application.released.clear()
    answers = []
    client = threading.Thread(target=lambda: answers.append(send(port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")[0]))
    client.start()
    assert application.began.wait(SECONDS)
    stopping = threading.Thread(target=application.stop)
    stopping.start()
    application.released.set()
    stopping.join(SECONDS)
    client.join(SECONDS)
    assert answers == [200]
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()


def test_address_that_cannot_be_bound_is_a_bad_configuration():
    server = make_server(Application(), "192.0.2.1", 80, threads=1, shutdown_s=1)
    with pytest.raises(errors.BadConfiguration, match=r"http://192\.0\.2\.1:80 cannot be served"):
        server.start()
