# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of daemons refuses a request whose end a proxy may see elsewhere, and serves nothing after it.

Otherwise a client could hide a second request in the first one, behind a proxy that checks each (RFC 9112, 11.2).
"""

import re
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi.daemon.http_listener import HttpServer

# Five bytes, which are also the last chunk of a body in chunks.
BODY = b"0\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"


def post(*fields: bytes, body: bytes = BODY) -> bytes:
    return b"\r\n".join([b"POST /first HTTP/1.1", b"Host: a", *fields, b"", body])


class Server(NamedTuple):
    """A running server, and the paths that reached its application."""

    port: int
    paths: list[str]

    def statuses(self, sent: bytes) -> list[int]:
        """Send bytes, end the stream, and return the statuses of all answers."""
        with socket.create_connection((LOOPBACK, self.port), timeout=10) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answers = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", answers)]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    paths: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        paths.append(environ["PATH_INFO"])
        try:
            environ["wsgi.input"].read()
            status = "200 OK"
        except ValueError:
            status = "400 Bad Request"
        start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "0")])
        return []

    server = Server(free_port(), paths)
    http = HttpServer(application, LOOPBACK, server.port, 2, max_body=1 << 16, shutdown_s=5)
    http.start()
    yield server
    http.stop()
    http.wait()


@pytest.fixture
def server(running: Server) -> Server:
    running.paths.clear()
    return running


@pytest.mark.parametrize(
    "sent",
    [
        post(b"Content-Length: 5"),
        post(b"Transfer-Encoding: chunked"),
        post(b"Transfer-Encoding:\tchunked"),
        post(b"Transfer-Encoding: chunked", body=b"0;name=value\r\n\r\n"),
    ],
    ids=["length", "chunks", "tab", "extension"],
)
def test_two_well_formed_requests_get_two_answers(server: Server, sent: bytes) -> None:
    assert server.statuses(sent + HIDDEN) == [200, 200]
    assert server.paths == ["/first", "/hidden"]


MISREAD = {
    "signed length": post(b"Content-Length: +5"),
    "length with an underscore": post(b"Content-Length: 1_0", body=2 * BODY),
    "negative length": post(b"Content-Length: -1", body=b""),
    "two different lengths": post(b"Content-Length: 5", b"Content-Length: 0"),
    "folded field": post(b"X-Any: a", b" Transfer-Encoding: chunked", b"Content-Length: 5"),
    "negative chunk": post(b"Transfer-Encoding: chunked", body=b"-1\r\n\r\n"),
    "chunk with a prefix": post(b"Transfer-Encoding: chunked", body=b"0x5\r\n12345\r\n0\r\n\r\n"),
    "signed chunk": post(b"Transfer-Encoding: chunked", body=b"+5\r\n12345\r\n0\r\n\r\n"),
    "NUL in a field": post(b"X-Any: a\0b", b"Content-Length: 5"),
    "no Host": post(b"Content-Length: 5").replace(b"Host: a\r\n", b""),
}
REFUSED = {
    "length and chunks": post(b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    "blank before the colon": post(b"Transfer-Encoding : chunked", b"Content-Length: 5"),
    "unknown coding": post(b"Transfer-Encoding: xchunked", b"Content-Length: 5"),
    "coding after chunked": post(b"Transfer-Encoding: chunked, identity"),
    "two codings": post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
    "hexadecimal length": post(b"Content-Length: 0x5"),
    "list of lengths": post(b"Content-Length: 5, 5"),
    "digit of another script": post("Content-Length: \u0665".encode()),
    "lines without CR": b"GET / HTTP/1.1\nHost: a\n\n",
    "unknown version": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("sent", REFUSED.values(), ids=list(REFUSED))
def test_misframed_request_is_refused_and_ends_the_connection(server: Server, sent: bytes) -> None:
    (status,) = server.statuses(sent + HIDDEN)
    assert status >= 400
    assert "/hidden" not in server.paths


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="The server takes fields at int()'s word, not HTTP's.")
@pytest.mark.parametrize("sent", MISREAD.values(), ids=list(MISREAD))
def test_leniently_read_request_is_refused_and_ends_the_connection(server: Server, sent: bytes) -> None:
    statuses = server.statuses(sent + HIDDEN)
    assert [status >= 400 for status in statuses] == [True], statuses
    assert "/hidden" not in server.paths
