# SPDX-License-Identifier: Apache-2.0
"""Loopback TCP ports."""

import random
import socket

from devstack.servers.errors import PortInUse, ServerError

LOOPBACK = "127.0.0.1"
# Below the kernel's ephemeral range, so that no outgoing connection takes a port before its server starts.
FIRST, LAST = 20000, 32000
ATTEMPTS = 200


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False


def free_port() -> int:
    chance = random.SystemRandom()
    for _ in range(ATTEMPTS):
        port = chance.randrange(FIRST, LAST)
        if is_free(port):
            return port
    raise ServerError(f"No free TCP port was found between {FIRST} and {LAST} on {LOOPBACK}.")


def require_free(port: int, server: str) -> None:
    """Raise PortInUse, naming ``server``, unless the port is free."""
    if not is_free(port):
        raise PortInUse(
            f"{server} cannot start: port {port} on {LOOPBACK} is in use by another process. "
            f"Stop that process (`ss -ltnp 'sport = :{port}'` names it) or choose another port."
        )
