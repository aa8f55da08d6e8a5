# SPDX-License-Identifier: Apache-2.0
"""Where the bus's Redis is: from a transport URL to what redis-py is told."""

from dataclasses import dataclass, field
from typing import Any

from oslo_messaging import TransportURL

from rpcapi.drivers.errors import BusAddressError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 6379


@dataclass(frozen=True)
class Address:
    """One Redis server and database. Its text never shows the password."""

    host: str | None
    port: int
    socket: str | None
    database: int
    username: str | None
    password: str | None = field(repr=False)

    def __str__(self) -> str:
        return f"{self.socket or f'{self.host}:{self.port}'}, database {self.database}"

    def connection_arguments(self) -> dict[str, Any]:
        """The keyword arguments of a redis-py connection to this server."""
        who = {"username": self.username, "password": self.password, "db": self.database}
        if self.socket:
            return {**who, "path": self.socket}
        return {**who, "host": self.host, "port": self.port}


def parse(url: TransportURL) -> Address:
    """Read `gantt+redis://user:password@host:port/database` or `gantt+redis:///database?socket=/path`.

    :raises BusAddressError: for any other form, naming what is wrong without showing credentials
    """
    if url.transport != "gantt+redis":
        raise BusAddressError(f"The bus cannot use '{url.transport}': write gantt+redis://.")
    if len(url.hosts) > 1:
        raise BusAddressError("The bus is one Redis server: the transport URL names several hosts.")
    unknown = sorted(set(url.query) - {"socket"})
    if unknown:
        raise BusAddressError(f"The transport URL has an unknown parameter: {', '.join(unknown)}.")
    host = url.hosts[0] if url.hosts else None
    socket = url.query.get("socket")
    if socket and host and (host.hostname or host.port):
        raise BusAddressError("The transport URL names both a host and a socket: leave one out.")
    if socket and not socket.startswith("/"):
        raise BusAddressError(f"The socket in the transport URL is not an absolute path: {socket}.")
    return Address(
        host=None if socket else (host and host.hostname) or DEFAULT_HOST,
        port=(host and host.port) or DEFAULT_PORT,
        socket=socket,
        database=_database(url.virtual_host),
        username=(host.username or None) if host else None,
        password=(host.password or None) if host else None,
    )


def _database(virtual_host: str | None) -> int:
    if not virtual_host:
        return 0
    if not virtual_host.isdecimal():
        raise BusAddressError(f"The database in the transport URL is not a number: {virtual_host}.")
    return int(virtual_host)
