# SPDX-License-Identifier: Apache-2.0
"""Option transport_url: registered by oslo.messaging, documented and checked by gantt.

The embedded bus's URL is parsed without redis-py, which a daemon's master must not import.
"""

import importlib.metadata
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from oslo_config import cfg

from rpcapi import errors

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 6379
GROUP = "DEFAULT"

OPTS = [
    cfg.StrOpt(
        "transport_url",
        secret=True,
        sample_default="gantt+redis:///0?socket=/run/gantt/bus.sock",
        help="URL of the message bus, the same for all services and clients. RabbitMQ, with a separate user for each "
        "service: 'gantt-rabbit://user:password@host:5672/vhost'. The embedded bus, on a dedicated "
        "redis-server: 'gantt+redis://user:password@host:6379/0', or over a Unix socket "
        "'gantt+redis://user:password@/0?socket=/path'.",
    )
]

# oslo.messaging's other drivers are not tested.
DRIVERS = ("gantt-rabbit", "gantt+redis", "rabbit")


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


def parse_redis_url(url: str) -> RedisAddress:
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


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid URL, without oslo.messaging, which a master must not import."""
    url = read_url(conf)
    if url is None:
        return
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise malformed_url()
    if scheme.partition("+")[0] not in _installed_drivers():
        raise unknown_driver(scheme)
    try:
        for host in urlsplit(f"//{rest}").netloc.split(","):
            _ = urlsplit(f"//{host.rpartition('@')[2]}").port  # access validates the port
    except ValueError:
        raise malformed_url() from None
    if scheme.partition("+")[0] == "gantt":
        parse_redis_url(url)


def malformed_url() -> errors.BadConfiguration:
    """Return the error for a malformed URL, which may contain a password and is not shown."""
    return errors.BadConfiguration(
        why="transport_url is malformed: write driver://user:password@host:port/virtual_host, user and password being "
        "optional, with special characters as %nn"
    )


def unknown_driver(name: str) -> errors.BadConfiguration:
    # A malformed URL may have a password here.
    problem = f" '{name}'" if name.replace("-", "").replace("+", "").isalnum() else ""
    return errors.BadConfiguration(why=f"transport_url has an unknown driver{problem}; known: {', '.join(DRIVERS)}")


def missing_package(driver: str, package: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(
        why=f"transport_url: driver '{driver}' needs the package {package}; run: pip install 'gantt[embedded]'"
    )


def read_url(conf: cfg.ConfigOpts) -> str | None:
    """Read transport_url in a private ConfigOpts, because oslo.messaging refuses a differing registration."""
    own_conf = cfg.ConfigOpts()
    own_conf.register_opts(OPTS)
    own_conf([], project="gantt", default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    url: str | None = own_conf.transport_url
    return url


def _installed_drivers() -> set[str]:
    return {driver.name for driver in importlib.metadata.entry_points(group="oslo.messaging.drivers")}
