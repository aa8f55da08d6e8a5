# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the dashboard: cheroot's, with bounds."""

import socket
import time
from typing import Any

from cheroot.server import HTTPConnection, HTTPRequest

from rpcapi.daemon import http_listener
from rpcapi.daemon.http_listener import ContextSource, Listener, TlsAdapter
from rpcapi.daemon.timed_sockets import make_file

MAX_HEADERS = 32 << 10  # bytes
MAX_BODY = 64 << 10  # bytes: forms only
CONNECTION_SECONDS = 30  # for which a connection without a request is kept
REQUEST_SECONDS = 10
ANSWER_SECONDS = 60
SHUTDOWN_SECONDS = 5


class _Request(HTTPRequest):
    def parse_request(self) -> None:
        """Read the header; it and the body must come within REQUEST_SECONDS, however slowly they are sent."""
        self.conn.rfile.raw.deadline = time.monotonic() + REQUEST_SECONDS
        super().parse_request()

    def send_headers(self) -> None:
        """Begin to write the answer, which the client must take within ANSWER_SECONDS."""
        self.conn.wfile.raw.deadline = time.monotonic() + ANSWER_SECONDS
        super().send_headers()


class _Connection(HTTPConnection):
    RequestHandlerClass = _Request

    def __init__(self, server: Any, sock: socket.socket, makefile: Any = None) -> None:
        super().__init__(server, sock, make_file)


class _Server(Listener):
    ConnectionClass = _Connection
    max_request_header_size = MAX_HEADERS
    max_request_body_size = MAX_BODY


class HttpServer(http_listener.HttpServer):
    """Serves an application on one address, with TLS where ``make_context`` is given."""

    def __init__(
        self, application: Any, host: str, port: int, threads: int, make_context: ContextSource | None
    ) -> None:
        listener = _Server(
            (host, port),
            application,
            numthreads=threads,
            timeout=CONNECTION_SECONDS,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        super().__init__(listener, None if make_context is None else TlsAdapter(make_context, make_file))
