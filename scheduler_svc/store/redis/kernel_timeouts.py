# SPDX-License-Identifier: Apache-2.0
"""Time-outs of a connection to Redis that the kernel watches."""

import socket
import ssl
import struct
from typing import Any

from rpcapi.messaging import green


def use_kernel_timeouts(connection: Any) -> None:
    """Make reads and writes of a connection one system call each instead of two; its time-out stays the same.

    A socket with a time-out of Python's polls before each of them. A thread gives up the interpreter for each system
    call and waits for it afterwards, so that a command took four turns of the interpreter where two are enough. Green
    threads wait in their hub, and TLS reads as much as it needs: their connections are left as they are.
    """
    sock, seconds = connection._sock, connection.socket_timeout
    if green.is_patched() or isinstance(sock, ssl.SSLSocket) or not seconds:
        return
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))  # a struct timeval
    sock.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, limit)
