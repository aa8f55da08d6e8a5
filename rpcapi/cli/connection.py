# SPDX-License-Identifier: Apache-2.0
"""Checks quickly that a broker is reachable, so that the user need not wait for a call's timeout."""

import socket
from typing import Any

from rpcapi import errors

TIMEOUT = 3.0
RABBIT_PORT = 5672


def check_broker(url: Any) -> None:
    """Raise Unavailable unless one of the brokers in a parsed ``rabbit`` transport URL accepts a connection."""
    if "rabbit" not in url.transport:
        return  # other buses may use a Unix socket
    refusals = []
    for host in url.hosts:
        address = (host.hostname or "localhost", host.port or RABBIT_PORT)
        try:
            socket.create_connection(address, timeout=TIMEOUT).close()
            return
        except OSError as error:
            refusals.append(f"{address[0]}:{address[1]}: {error.strerror or error}")
    raise errors.Unavailable(what="The message bus", why="; ".join(refusals) or "its URL has no host")
