# SPDX-License-Identifier: Apache-2.0
"""Checks quickly that a broker is reachable, so that the user need not wait for a call's timeout."""

import contextlib
import socket
import time
from typing import Any

from rpcapi import errors
from rpcapi.conf import bus_address

TIMEOUT = 3.0
RABBIT_PORT = 5672
GRACE = 1.0  # seconds in which a broker that is being restarted may return
PAUSE = 0.2

Address = tuple[str, int] | str  # host and port, or the path of a Unix socket


def check_broker(url: Any) -> None:
    """Raise Unavailable unless one of the brokers in a parsed transport URL accepts a connection."""
    addresses = _addresses(url)
    if addresses is None:
        return
    deadline = time.monotonic() + GRACE
    while refusals := _try_connect(addresses):
        if time.monotonic() + PAUSE > deadline:
            raise errors.Unavailable(what="The message bus", why="; ".join(refusals))
        time.sleep(PAUSE)


def _addresses(url: Any) -> list[Address] | None:
    """Return where the brokers listen, or None for a bus within the process."""
    if "rabbit" in url.transport:
        if not url.hosts:
            raise errors.Unavailable(what="The message bus", why="its URL has no host")
        return [(host.hostname or "localhost", host.port or RABBIT_PORT) for host in url.hosts]
    if url.transport.startswith("gantt"):
        address = bus_address.parse(str(url))
        return [address.socket or (str(address.host), address.port)]
    return None


def _try_connect(addresses: list[Address]) -> list[str]:
    """Return the errors of all addresses, or an empty list if one accepts a connection."""
    refusals = []
    for address in addresses:
        try:
            _connect(address)
        except OSError as error:
            text = address if isinstance(address, str) else f"{address[0]}:{address[1]}"
            refusals.append(f"{text}: {error.strerror or error}")
        else:
            return []
    return refusals


def _connect(address: Address) -> None:
    if not isinstance(address, str):
        socket.create_connection(address, timeout=TIMEOUT).close()
        return
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(address)
