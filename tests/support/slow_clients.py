# SPDX-License-Identifier: Apache-2.0
"""Clients of an HTTP server that do not finish their requests."""

import contextlib
import socket
from collections.abc import Iterator

SLOW_CLIENTS = 200
IN_HEADER = b"GET / HTTP/1.1\r\nHost:"
IN_BODY = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na"


@contextlib.contextmanager
def slow_clients(port: int, begin: bytes, count: int = SLOW_CLIENTS) -> Iterator[None]:
    """Keep connections open that have sent the beginning of a request, and send no more."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(begin)
        yield
