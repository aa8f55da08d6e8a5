# SPDX-License-Identifier: Apache-2.0
"""Parser of Redis URLs, also with several servers (Sentinel or Redis Cluster), without redis-py.

A daemon's master must not import redis-py.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from rpcapi import errors

MULTI_SERVER_SCHEMES = ("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
OPTIONS = {
    "username",
    "password",
    "client_name",
    "socket_timeout",
    "socket_connect_timeout",
    "socket_keepalive",
    "health_check_interval",
}
# By default, certificates and host names are verified.
TLS_OPTIONS = {
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_password",
    "ssl_cert_reqs",
    "ssl_check_hostname",
}
_TLS_VALUES = {"ssl_cert_reqs": ("required", "optional", "none"), "ssl_check_hostname": ("true", "false")}
SENTINEL_OPTIONS = {"sentinel_username", "sentinel_password"}
_SENTINEL_PORT, _REDIS_PORT = 26379, 6379
_SERVICE = re.compile(r"[A-Za-z0-9._-]+")  # the names that Sentinel allows
_FORMS = {
    "sentinel": "redis+sentinel://user:password@host1:26379,host2:26379,host3:26379/service/0",
    "cluster": "redis+cluster://user:password@host1:6379,host2:6379,host3:6379",
}
SCHEMES = ("redis", "rediss", "unix")
MEMORY = "memory"  # URL of an in-process store, for trials.
_OPTIONS_ANY_SCHEME = {"db", "username", "password", "client_name", "socket_timeout", "health_check_interval"}
_OPTIONS_TCP = _OPTIONS_ANY_SCHEME | {"socket_connect_timeout", "socket_keepalive"}
_OPTIONS = {"unix": _OPTIONS_ANY_SCHEME, "redis": _OPTIONS_TCP, "rediss": _OPTIONS_TCP | TLS_OPTIONS}


@dataclass(frozen=True, slots=True)
class RedisNodes:
    """Servers of a Sentinel or Cluster URL, with redis-py URLs that contain passwords: never show them.

    ``names``: Sentinels or nodes as host:port, with their ``seed_urls``. ``service``: Sentinel's service name, or
    empty. ``primary_url``: URL of the primary with a placeholder for host and port.
    """

    kind: Literal["sentinel", "cluster"]
    tls: bool
    names: tuple[str, ...]
    service: str
    seed_urls: tuple[str, ...] = field(repr=False)
    primary_url: str = field(repr=False)


def has_multiple_servers(url: str) -> bool:
    return url.partition("://")[0] in MULTI_SERVER_SCHEMES


def read_options(group: str, query: str, valid_options: Collection[str]) -> dict[str, str]:
    """Parse the options of a URL; raises BadConfiguration for an unknown option or an invalid TLS value."""
    # redis-py uses the first value, too
    options = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
    if not options.keys() <= set(valid_options):
        # Do not show the option: it is part of a password in which '?' is not written as %3F.
        raise errors.BadConfiguration(
            why=f"[{group}] url has an unknown option after its '?'; known: {', '.join(sorted(valid_options))}"
        )
    for name, values in _TLS_VALUES.items():
        if options.get(name, values[0]) not in values:
            raise errors.BadConfiguration(why=f"[{group}] url: {name} must be one of {', '.join(values)}")
    return options


def read_database(group: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise errors.BadConfiguration(why=f"[{group}] url: db must be a number")
    return int(text)


def parse_nodes(url: str, group: str) -> RedisNodes:
    """Parse a URL of one of SCHEMES; raises BadConfiguration, without the URL in its message."""
    scheme = url.partition("://")[0]
    tls, kind = scheme.startswith("rediss"), scheme.partition("+")[2]
    authority, path, query_text = _parts(url)
    credentials, at, hosts = authority.rpartition("@")
    names = tuple(_address(group, kind, host) for host in hosts.split(","))
    valid_options = OPTIONS | (SENTINEL_OPTIONS if kind == "sentinel" else set()) | (TLS_OPTIONS if tls else set())
    options = read_options(group, query_text, valid_options)
    base = "rediss" if tls else "redis"
    query = urlencode({name: value for name, value in options.items() if name not in SENTINEL_OPTIONS})
    login = f"{credentials}{at}"
    if kind == "sentinel":
        service, db = _service(group, path)
        server = f"{base}://{login}{names[0]}/{db}?{query}"
        seed_urls = tuple(_sentinel(base, name, options) for name in names)
        return RedisNodes("sentinel", tls, names, service, seed_urls, server)
    if path.strip("/") not in ("", "0"):
        raise errors.BadConfiguration(why=f"[{group}] url: Redis Cluster supports only database 0")
    seed_urls = tuple(f"{base}://{login}{name}/0?{query}" for name in names)
    return RedisNodes("cluster", tls, names, "", seed_urls, seed_urls[0])


def _parts(url: str) -> tuple[str, str, str]:
    rest = url.partition("://")[2].partition("#")[0]
    before, _, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    return authority, slash + path, query


def _address(group: str, kind: str, text: str) -> str:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an invalid address: write {_FORMS[kind]}, with special characters of the "
            "password as %nn"
        )
    port = port or (_SENTINEL_PORT if kind == "sentinel" else _REDIS_PORT)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _service(group: str, path: str) -> tuple[str, int]:
    service, _, db = path.strip("/").partition("/")
    if not _SERVICE.fullmatch(service):
        raise errors.BadConfiguration(
            why=f"[{group}] url has no valid Sentinel service name: write {_FORMS['sentinel']}"
        )
    return service, read_database(group, db or "0")


def _sentinel(base: str, name: str, options: dict[str, str]) -> str:
    user, password = (quote(options.get(option, ""), safe="") for option in ("sentinel_username", "sentinel_password"))
    login = f"{user}:{password}@" if user or password else ""
    tls = {option: value for option, value in options.items() if option.startswith("ssl_")}
    return f"{base}://{login}{name}/0?{urlencode(tls)}"


def check(group: str, url: str) -> None:
    """Raise BadConfiguration for an invalid store URL, which may contain a password and is not shown."""
    if has_multiple_servers(url):
        parse_nodes(url, group)
        return
    valid_options = ", ".join(f"{scheme}://" for scheme in (*SCHEMES, *MULTI_SERVER_SCHEMES, MEMORY))
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in (*SCHEMES, MEMORY):
        raise errors.BadConfiguration(why=f"[{group}] url must begin with one of {valid_options}")
    try:
        parts = urlsplit(url)
        _ = parts.port  # access validates the port
    except ValueError:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an invalid address: write {scheme}://user:password@host:port/0, with special "
            "characters of the password as %nn"
        ) from None
    if scheme == MEMORY:
        return
    if scheme == "unix" and not parts.path.strip("/"):
        raise errors.BadConfiguration(why=f"[{group}] url has no socket path: write unix:///path/redis.sock?db=0")
    options = read_options(group, parts.query, _OPTIONS[scheme])
    read_database(group, options.get("db", "0"))
