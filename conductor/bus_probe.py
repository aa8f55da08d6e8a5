# SPDX-License-Identifier: Apache-2.0
"""Is the bus there? Asked before a server is started, which for RabbitMQ would block and not hear a stop."""

import contextlib
import socket

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.drivers import address

ANSWER_SECONDS = 5.0
RABBIT_PORT = 5672


def probe(conf: cfg.ConfigOpts) -> None:
    """Return when one server of the configured bus can be connected to; raises OSError, saying which cannot."""
    url = messaging.TransportURL.parse(conf)
    if url.transport == "gantt+redis":
        where = address.parse(url)
        if where.socket is not None:
            _connect_unix(where.socket)
        else:
            _connect_tcp([(where.host or address.DEFAULT_HOST, where.port)])
    elif url.transport == "rabbit":
        _connect_tcp([(host.hostname or "localhost", host.port or RABBIT_PORT) for host in url.hosts])


def _connect_unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(path)
        except OSError as error:
            raise OSError(f"{path}: {error}") from error


def _connect_tcp(servers: list[tuple[str, int]]) -> None:
    """Try each server: a cluster's bus is there when one of them is."""
    failures = []
    for host, port in servers or [("localhost", RABBIT_PORT)]:
        try:
            with contextlib.closing(socket.create_connection((host, port), timeout=ANSWER_SECONDS)):
                return
        except OSError as error:
            failures.append(f"{host}:{port}: {error}")
    raise OSError("; ".join(failures))
