# SPDX-License-Identifier: Apache-2.0
"""HTTP client that costs its caller little, so that measurements show the server's time."""

import re
import socket
from typing import Any

from rpcapi.cli.command import CommandFailed

SECONDS = 600.0  # Placement needs half a minute for some requests
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
END_OF_HEAD = b"\r\n\r\n"
CHUNK = 2**18
NO_CONTENT = 204


class RequestFailed(CommandFailed):
    """Raised when a request fails or gets no answer; the message has the status and the body."""


class HttpClient:
    """Administrator's open connection to 127.0.0.1, for one thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._connect()
        self._head = (
            f"Host: 127.0.0.1:{port}\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n"
            "Accept: application/json\r\n"
        ).encode()

    def get(self, path: str) -> bytes:
        return self._exchange(b"GET %s HTTP/1.1\r\n%s\r\n" % (path.encode(), self._head), 200)

    def put(self, path: str, body: bytes) -> None:
        length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._exchange(b"PUT %s HTTP/1.1\r\n%s%s%s" % (path.encode(), self._head, length, body), NO_CONTENT)

    def reconnect(self) -> None:
        """Replace the connection, because the server may have closed it while it was idle."""
        self._socket.close()
        self._socket = self._connect()

    def close(self) -> None:
        self._socket.close()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _exchange(self, request: bytes, expected: int) -> bytes:
        try:
            self._socket.sendall(request)
            status, body = self._read()
        except OSError as error:
            raise RequestFailed(f"{_line(request)} was not answered: {error}") from error
        if status != expected:
            raise RequestFailed(f"{_line(request)} was answered {status}: {body[:300]!r}")
        return body

    def _read(self) -> tuple[int, bytes]:
        received = bytearray()
        while (end := received.find(END_OF_HEAD)) < 0:
            self._receive(received)
        length = LENGTH.search(received, 0, end)
        total = end + len(END_OF_HEAD) + (int(length[1]) if length else 0)
        while len(received) < total:
            self._receive(received)
        return int(received[9:12]), bytes(memoryview(received)[end + len(END_OF_HEAD) :])

    def _receive(self, received: bytearray) -> None:
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        received += chunk


def _line(request: bytes) -> str:
    return request.partition(b"\r\n")[0].decode(errors="replace")[:200]


def allocation(provider: str, amounts: dict[str, int]) -> dict[str, Any]:
    """Return the PUT document of a new consumer's allocation from one provider."""
    return {
        "allocations": {provider: {"resources": amounts}},
        "project_id": "lab",
        "user_id": "lab",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
