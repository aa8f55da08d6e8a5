# SPDX-License-Identifier: Apache-2.0
"""Is a broker there at all? A person should not wait for a call's timeout to hear that it is not."""

import socket
from typing import Any

from rpcapi import errors

TIMEOUT = 3.0
RABBIT_PORT = 5672


def check(url: Any) -> None:
    """Raise Unavailable unless one of the brokers in a parsed ``rabbit`` transport URL accepts a connection."""
    if "rabbit" not in url.transport:
        return  # another bus may be a socket in the file system
    refusals = []
    for host in url.hosts:
        address = (host.hostname or "localhost", host.port or RABBIT_PORT)
        try:
            socket.create_connection(address, timeout=TIMEOUT).close()
            return
        except OSError as error:
            refusals.append(f"{address[0]}:{address[1]}: {error.strerror or error}")
    raise errors.Unavailable(what="The message bus", why="; ".join(refusals) or "its URL names no host")
