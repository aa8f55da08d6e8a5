# SPDX-License-Identifier: Apache-2.0
"""HTTP requests with limits on the size and time of header, body and answer."""

import contextlib
import io
import select
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import cheroot.errors
import cheroot.server
from cheroot import wsgi
from oslo_log import log

from rpcapi.daemon.timed_sockets import make_file

LOG = log.getLogger(__name__)

HEADER_SECONDS = 10  # Time-out of a header, from its first byte.
BODY_SECONDS = 60
# For the rest of a request, while half of the threads already wait for incomplete requests.
CROWDED_HEADER_SECONDS = 0.01
CROWDED_BODY_SECONDS = 0.1
LINGER_SECONDS = 1  # Longest time to discard the rest of a refused request.
ANSWER_SECONDS = 60  # for the client to read the response
FIRST_ERROR = 400


class BodyTooLarge(Exception):
    """Raised when a body of unknown length exceeds the server's limit."""


class _HeaderReader(cheroot.server.HeaderReader):
    def _transform_key(self, key_name: bytes) -> bytes:
        """Refuse whitespace between name and colon (RFC 9112, 5.1), which proxies may interpret differently."""
        if key_name != key_name.strip():
            raise ValueError("A header has whitespace between name and colon.")
        name: bytes = super()._transform_key(key_name)  # type: ignore[misc]  # not in cheroot's stubs
        return name


class _Request(cheroot.server.HTTPRequest):
    header_reader = _HeaderReader()

    def parse_request(self) -> None:
        self.conn.rfile.raw.deadline = time.monotonic() + HEADER_SECONDS
        head = self.conn.rfile.read_head()
        if head is None:
            self._parse_in_pieces()
        else:
            self.rfile = io.BytesIO(head)
            self.ready = self.read_request_line() and self.read_request_headers()  # type: ignore[no-untyped-call]
        self.conn.rfile.raw.deadline = time.monotonic() + BODY_SECONDS

    def _parse_in_pieces(self) -> None:
        with self.waiting_for_rest(CROWDED_HEADER_SECONDS):
            super().parse_request()

    @contextlib.contextmanager
    def waiting_for_rest(self, crowded_seconds: float) -> Iterator[None]:
        """Wait for the rest of the request: at most half of the threads, others only ``crowded_seconds``."""
        reader = self.conn.rfile.raw
        may_wait = self.server.incomplete_requests.acquire(blocking=False)
        if not may_wait:
            reader.deadline = min(reader.deadline, time.monotonic() + crowded_seconds)
            self.conn.linger_seconds = 0
        try:
            yield
            self.conn.linger_seconds = LINGER_SECONDS
        finally:
            if may_wait:
                self.server.incomplete_requests.release()

    def read_request_headers(self) -> bool:
        """Refuse a body with two lengths, because a proxy may have used the other one."""
        if not super().read_request_headers():  # type: ignore[no-untyped-call]
            return False
        if self.chunked_read and b"Content-Length" in self.inheaders:
            self.simple_response("400 Bad Request", "Content-Length and Transfer-Encoding exclude each other.")
            return False
        return True

    def send_headers(self) -> None:
        """Start the response; close the connection after it if part of the body is unread."""
        now = time.monotonic()
        self.conn.has_unread |= self.conn.rfile.raw.deadline <= now or (self.chunked_read and not self.rfile.closed)
        # Otherwise cheroot reads the rest of an unwanted body before it answers.
        self.conn.has_unread |= getattr(self.rfile, "remaining", 0) > self.conn.rfile.buffered
        self.close_connection |= self.conn.has_unread
        self.conn.wfile.raw.deadline = now + ANSWER_SECONDS
        super().send_headers()

    def simple_response(self, status: str, msg: str = "") -> None:
        code, _, title = str(status).partition(" ")
        if int(code) < FIRST_ERROR:
            super().simple_response(status, msg)
            return
        self.close_connection = self.conn.has_unread = True
        self.conn.wfile.raw.deadline = time.monotonic() + ANSWER_SECONDS
        headers, body = self.server.render_error(int(code), title, msg)
        lines = [f"{self.server.protocol} {status}", *(f"{name}: {value}" for name, value in headers)]
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")
        try:
            self.conn.wfile.write(head + body)
        except OSError:
            LOG.debug("A client closed its connection before it was answered %s", code)


class Connection(cheroot.server.HTTPConnection):
    RequestHandlerClass = _Request

    def __init__(self, server: Any, sock: socket.socket, makefile: Any = None) -> None:
        super().__init__(server, sock, make_file)
        self.has_unread = False
        self.linger_seconds = LINGER_SECONDS
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def communicate(self) -> bool:
        """Serve consecutive requests without cheroot's selector in between; return whether to stay open."""
        while super().communicate():  # type: ignore[no-untyped-call]
            if not self.server.await_request(self._poll):
                return True
        return False

    def close(self) -> None:
        if self.has_unread:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
                self._discard(time.monotonic() + self.linger_seconds)
        super().close()

    def _discard(self, deadline: float) -> None:
        while (remaining := deadline - time.monotonic()) > 0:
            self.socket.settimeout(remaining)
            if not self.socket.recv(1 << 16):
                break


class _RequestBody:
    def __init__(self, request: _Request) -> None:
        self._request = request

    def read(self, size: int = sys.maxsize) -> bytes:
        """Read up to ``size`` bytes; raises TimeoutError, BodyTooLarge, or ValueError for a malformed chunk."""
        is_here = not self._request.chunked_read and self._request.conn.rfile.buffered >= size
        with contextlib.nullcontext() if is_here else self._request.waiting_for_rest(CROWDED_BODY_SECONDS):
            return self._read(size)

    def _read(self, size: int) -> bytes:
        try:
            content: bytes = self._request.rfile.read(size)
        except cheroot.errors.MaxSizeExceeded as error:
            raise BodyTooLarge from error
        except OSError as error:
            if type(error) is OSError:  # an oversized chunk; connection errors are subclasses
                raise BodyTooLarge from error
            raise
        return content


class Gateway(wsgi.Gateway_10):
    def respond(self) -> None:
        response = self.req.server.wsgi_app(self.env, self.start_response)
        try:
            for chunk in filter(None, response):
                self.write(chunk)
            self.req.ensure_headers_sent()
        finally:
            close = getattr(response, "close", None)
            if close is not None:
                close()

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        environ["wsgi.input"] = _RequestBody(self.req)
        return environ
