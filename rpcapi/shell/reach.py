# SPDX-License-Identifier: Apache-2.0
"""Is a broker there at all? oslo.messaging's rabbit driver would try to connect for ever."""

import socket
from typing import Any

from rpcapi import errors

TIMEOUT = 3.0
RABBIT_PORT = 5672


def check(url: Any) -> None:
    """Raise Unavailable unless one of the brokers in a parsed ``rabbit`` transport URL accepts a connection."""
    if "rabbit" not in url.transport:
        return  # the other drivers keep to a call's timeout by themselves
    refusals = []
    for host in url.hosts:
        address = (host.hostname or "localhost", host.port or RABBIT_PORT)
        try:
            socket.create_connection(address, timeout=TIMEOUT).close()
            return
        except OSError as error:
            refusals.append(f"{address[0]}:{address[1]}: {error.strerror or error}")
    raise errors.Unavailable(what="The message bus", why="; ".join(refusals) or "its URL names no host")
