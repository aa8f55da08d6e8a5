# SPDX-License-Identifier: Apache-2.0
"""Fewer system calls per command of a Redis connection."""

import socket
import ssl
import struct
from typing import Any


def use_fewer_system_calls(connection: Any, *, on_green_threads: bool) -> None:
    """Make each read and write of a fresh connection one system call, with the same timeout.

    A thread gives up the interpreter for each system call and waits for it afterwards.

    Before each command redis-py's pool polls the socket for unread answers, on green threads through their hub, half of
    the cost of a short command. There are none: an interrupted command disconnects, and a connection closed by the
    server fails the command itself. Python polls a socket with a timeout before each read and write; here the kernel
    enforces the timeout. Green threads, which wait in their hub, and TLS keep Python's timeout.
    """
    connection.can_read = _nothing_unread
    sock, seconds = connection._sock, connection.socket_timeout
    if on_green_threads or isinstance(sock, ssl.SSLSocket) or not seconds:
        return
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))  # struct timeval
    sock.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, limit)


def _nothing_unread(timeout: float = 0) -> bool:
    return False
