# SPDX-License-Identifier: Apache-2.0
"""Parser of the embedded bus's transport URL, without redis-py, which a daemon's master must not import."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rpcapi import errors

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 6379


@dataclass(frozen=True)
class RedisAddress:
    """Address of a Redis database; `str()` and `repr()` never show the password."""

    host: str | None
    port: int
    socket: str | None
    database: int
    username: str | None
    password: str | None = field(repr=False)

    def __str__(self) -> str:
        return f"{self.socket or f'{self.host}:{self.port}'}, database {self.database}"

    def connection_arguments(self) -> dict[str, Any]:
        credentials = {"username": self.username, "password": self.password, "db": self.database}
        if self.socket:
            return {**credentials, "path": self.socket}
        return {**credentials, "host": self.host, "port": self.port}


def parse(url: str) -> RedisAddress:
    """Parse `gantt+redis://user:password@host:port/database` or `gantt+redis:///database?socket=/path`.

    Raises BadConfiguration, without the credentials in its message.
    """
    scheme, _, rest = url.partition("://")
    if scheme != "gantt+redis":
        raise _bad_url(f"the bus cannot use '{scheme}': write gantt+redis://")
    parts = urlsplit(f"//{rest}")
    if "," in parts.netloc:
        raise _bad_url("the bus uses one Redis server, but the URL names several hosts")
    query = dict(parse_qsl(parts.query))
    unknown = sorted(set(query) - {"socket"})
    if unknown:
        raise _bad_url(f"the URL has an unknown parameter: {', '.join(unknown)}")
    credentials, _, server_part = parts.netloc.rpartition("@")
    socket = query.get("socket")
    if socket and server_part:
        raise _bad_url("the URL names both a host and a socket: use one of them")
    if socket and not socket.startswith("/"):
        raise _bad_url(f"the socket in the URL is not an absolute path: {socket}")
    username, _, password = credentials.partition(":")
    server = urlsplit(f"//{server_part}")
    return RedisAddress(
        host=None if socket else server.hostname or DEFAULT_HOST,
        port=server.port or DEFAULT_PORT,
        socket=socket,
        database=_database(unquote(parts.path.removeprefix("/"))),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )


def _database(path: str) -> int:
    if path and not path.isdecimal():
        raise _bad_url(f"the database in the URL is not a number: {path}")
    return int(path or 0)


def _bad_url(why: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(why=f"transport_url cannot be used: {why}")
