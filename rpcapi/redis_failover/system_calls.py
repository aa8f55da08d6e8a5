# SPDX-License-Identifier: Apache-2.0
"""Reduction of a Redis connection's system calls."""

import socket
import ssl
import struct
from typing import Any


def use_fewer_system_calls(connection: Any, *, on_green_threads: bool) -> None:
    """Make each read and write of a fresh connection one system call, with the same timeout.

    redis-py polls for unread answers before each command, half of the cost of a short one; there are none, because an
    interrupted command closes its connection. Python polls before each read and write; the kernel enforces the timeout
    instead, except on green threads and TLS.
    """
    connection.can_read = _nothing_unread
    sock, seconds = connection._sock, connection.socket_timeout
    if on_green_threads or isinstance(sock, ssl.SSLSocket) or not seconds:
        return
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))  # C's struct timeval
    sock.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, limit)


def _nothing_unread(timeout: float = 0) -> bool:
    return False
