# SPDX-License-Identifier: Apache-2.0
"""Clients that send or receive slowly, at the HTTP server on a real socket."""

import http.client
import select
import socket
import time

import pytest

from devstack.servers.ports import free_port
from rpcapi.daemon import http_listener, http_requests
from scheduler_svc.placement.http.messages import ApiUser, Request
from scheduler_svc.placement.http.microversions import LATEST
from scheduler_svc.placement.http.server import make_server
from scheduler_svc.placement.model.problems import Problem

SECONDS = 20  # less than the server gives an idle connection
BEGIN = b"POST / HTTP/1.1\r\nHost: a\r\n"
LARGE = 64 << 20  # bytes, more than the buffers of a socket
THREADS = 2


class Anything:
    """A schema that all fulfil."""

    def iter_errors(self, instance):
        return iter(())


def application(environ, start_response):
    """Answer with the status of reading the body, and with a large body if the path says so."""
    if environ["PATH_INFO"] == "/large":
        start_response("200 OK", [("content-length", str(LARGE))])
        return [bytes(LARGE)]
    status = 200
    if environ["REQUEST_METHOD"] == "POST":
        try:
            Request(environ, LATEST, ApiUser("u", "p", ()), "req-a").json(Anything())
        except Problem as problem:
            status = problem.status
    start_response(f"{status} Status", [("content-length", "0")])
    return []


@pytest.fixture
def port():
    number = free_port()
    server = make_server(application, "127.0.0.1", number, threads=THREADS, shutdown_s=SECONDS)
    server.start()
    yield number
    server.stop()
    server.wait()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def status_of(connection):
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def test_idle_connections_take_no_thread(port):
    connections = [connect(port) for _ in range(10 * THREADS)]
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert status_of(connection)[0] == 200
    for connection in connections:
        connection.close()


def test_requests_that_follow_each_other_are_served_by_one_thread_while_another_is_free(port, monkeypatch):
    monkeypatch.setattr(http_listener, "NEXT_REQUEST_MS", 1000 * SECONDS)
    hand_overs = []
    put_conn = http_listener._Listener.put_conn
    monkeypatch.setattr(http_listener._Listener, "put_conn", lambda *args: hand_overs.append(args) or put_conn(*args))
    with connect(port) as connection, connect(port) as second, connect(port) as third:
        for other in (second, third, second, third):
            for client in (connection, other):
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert status_of(client)[0] == 200
    # Each connection is handed over when it comes, and after each request but those of the one that a thread keeps.
    assert len(hand_overs) <= 3 + 8 - 2


def assert_refused_but_half_of_the_threads(waiting):
    """Take those from ``waiting`` that are answered 408, until there are no more than the threads that wait."""
    while len(waiting) > THREADS // 2:
        refused, _, _ = select.select(waiting, [], [], SECONDS)
        assert refused
        for connection in refused:
            assert status_of(connection)[0] == 408
            waiting.remove(connection)
            connection.close()


def test_half_of_the_threads_wait_for_the_rest_of_headers(port, monkeypatch):
    monkeypatch.setattr(http_requests, "HEADER_SECONDS", 10 * SECONDS)
    waiting = [connect(port) for _ in range(10)]
    for connection in waiting:
        connection.sendall(b"GET / HTTP/1.1\r\nHost:")
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert status_of(connection)[0] == 200
    assert_refused_but_half_of_the_threads(waiting)
    for connection in waiting:
        connection.sendall(b" a\r\n\r\n")
        assert status_of(connection)[0] == 200
        connection.close()


def test_half_of_the_threads_wait_for_the_rest_of_bodies(port, monkeypatch):
    monkeypatch.setattr(http_requests, "BODY_SECONDS", 10 * SECONDS)
    waiting = [connect(port) for _ in range(10)]
    for connection in waiting:
        connection.sendall(BEGIN + b"Content-Length: 2\r\n\r\n{")
    with connect(port) as connection:
        connection.sendall(BEGIN + b"Content-Length: 2\r\n\r\n{}")
        assert status_of(connection)[0] == 200
    assert_refused_but_half_of_the_threads(waiting)
    for connection in waiting:
        connection.sendall(b"}")
        assert status_of(connection)[0] == 200
        connection.close()


def trickle(connection, begin):
    """Send some bytes now, and one from time to time until the server answers; return its answer."""
    connection.sendall(begin)
    connection.settimeout(0.1)
    for _ in range(600):
        try:
            if connection.recv(1, socket.MSG_PEEK):
                break
        except TimeoutError:
            connection.sendall(b"a")
    connection.settimeout(SECONDS)
    return status_of(connection)


INCOMPLETE = [
    ("HEADER_SECONDS", b"G"),
    ("HEADER_SECONDS", BEGIN + b"Long: "),
    ("BODY_SECONDS", BEGIN + b"Content-Length: 100000\r\n\r\n"),
]


@pytest.mark.parametrize(("limit", "begin"), INCOMPLETE)
def test_request_of_which_no_more_comes_is_ended(port, monkeypatch, limit, begin):
    monkeypatch.setattr(http_requests, limit, 0.5)
    with connect(port) as connection:
        connection.sendall(begin)
        assert status_of(connection)[0] == 408  # before the connection would be idle for too long


@pytest.mark.parametrize(("limit", "begin"), INCOMPLETE)
def test_request_that_trickles_is_ended(port, monkeypatch, limit, begin):
    monkeypatch.setattr(http_requests, limit, 0.5)
    with connect(port) as connection:
        status, _ = trickle(connection, begin)
        assert status == 408
        assert not connection.recv(1)


def test_answer_that_a_client_does_not_take_is_ended(port, monkeypatch):
    monkeypatch.setattr(http_requests, "ANSWER_SECONDS", 0.5)
    with connect(port) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        with connect(port) as other:
            other.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert status_of(other)[0] == 200
        received, chunk = 0, b"a"
        while chunk:
            time.sleep(0.2 if received < 1 << 20 else 0)
            try:
                chunk = connection.recv(1 << 16)
            except ConnectionResetError:
                break
            received += len(chunk)
    assert received < LARGE


def send_chunks(connection, *sizes):
    """Send a body in chunks of sizes; return the status of the answer, which may come before all of them."""
    connection.sendall(BEGIN + b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n")
    try:
        for size in sizes:
            connection.sendall(b"%x\r\n%b\r\n" % (size, b"1" * size))
        connection.sendall(b"0\r\n\r\n")
    except OSError:
        pass
    return status_of(connection)[0]


@pytest.mark.parametrize("sizes", [[1 << 20] * 9, [9 << 20]])
def test_body_in_chunks_is_bounded(port, sizes):
    with connect(port) as connection:
        assert send_chunks(connection, *sizes) == 413


REFUSED = BEGIN + b"Content-Length: 99999999\r\n\r\n"


def test_body_of_a_refused_request_is_read_after_the_answer(port, monkeypatch):
    monkeypatch.setattr(http_requests, "LINGER_SECONDS", SECONDS)
    with connect(port) as connection:
        connection.sendall(REFUSED)
        assert status_of(connection)[0] == 413
        connection.sendall(bytes(LARGE))  # the connection would be reset if the server had closed it
        assert connection.recv(1) == b""


def test_body_of_a_refused_request_is_not_read_forever(port, monkeypatch):
    monkeypatch.setattr(http_requests, "LINGER_SECONDS", 0.5)
    with connect(port) as connection:
        connection.sendall(REFUSED)
        assert status_of(connection)[0] == 413
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            for _ in range(600):
                connection.sendall(b"a")
                time.sleep(0.1)


def test_connection_serves_further_requests_after_a_body_in_chunks(port):
    with connect(port) as connection:
        for _ in range(3):
            assert send_chunks(connection, 2, 3) == 200


def test_malformed_chunk_is_refused(port):
    with connect(port) as connection:
        connection.sendall(BEGIN + b"Transfer-Encoding: chunked\r\n\r\nmoose\r\n")
        assert status_of(connection)[0] == 400


def test_answer_does_not_wait_for_a_body_that_is_not_read(port):
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{")
        assert status_of(connection)[0] == 200


def test_connection_is_kept_after_a_body_that_came_and_was_not_read(port):
    with connect(port) as connection:
        for _ in range(2):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
            assert status_of(connection)[0] == 200
