# SPDX-License-Identifier: Apache-2.0
"""Where the bus's Redis is: from a transport URL to what redis-py is told. A daemon's master may import this."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rpcapi import errors

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


def parse(url: str) -> Address:
    """Read `gantt+redis://user:password@host:port/database` or `gantt+redis:///database?socket=/path`.

    :raises rpcapi.errors.BadConfiguration: for any other form, naming what is wrong without showing credentials
    """
    scheme, _, rest = url.partition("://")
    if scheme != "gantt+redis":
        raise _unusable(f"the bus cannot use '{scheme}': write gantt+redis://")
    parts = urlsplit(f"//{rest}")
    if "," in parts.netloc:
        raise _unusable("the bus is one Redis server, and the URL names several hosts")
    query = dict(parse_qsl(parts.query))
    unknown = sorted(set(query) - {"socket"})
    if unknown:
        raise _unusable(f"the URL has an unknown parameter: {', '.join(unknown)}")
    who, _, where = parts.netloc.rpartition("@")
    socket = query.get("socket")
    if socket and where:
        raise _unusable("the URL names both a host and a socket: leave one out")
    if socket and not socket.startswith("/"):
        raise _unusable(f"the socket in the URL is not an absolute path: {socket}")
    username, _, password = who.partition(":")
    server = urlsplit(f"//{where}")
    return Address(
        host=None if socket else server.hostname or DEFAULT_HOST,
        port=server.port or DEFAULT_PORT,
        socket=socket,
        database=_database(unquote(parts.path.removeprefix("/"))),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )


def _database(path: str) -> int:
    if path and not path.isdecimal():
        raise _unusable(f"the database in the URL is not a number: {path}")
    return int(path or 0)


def _unusable(why: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(why=f"transport_url cannot be used: {why}")
