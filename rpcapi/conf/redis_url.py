# SPDX-License-Identifier: Apache-2.0
"""Validation of Redis URLs without redis-py, which a daemon's master must not import."""

from urllib.parse import urlsplit

from rpcapi import errors
from rpcapi.conf import redis_nodes

SCHEMES = ("redis", "rediss", "unix")
MEMORY = "memory"  # in-process store, for trials
_OPTIONS_ANY_SCHEME = {"db", "username", "password", "client_name", "socket_timeout", "health_check_interval"}
_OPTIONS_TCP = _OPTIONS_ANY_SCHEME | {"socket_connect_timeout", "socket_keepalive"}
_OPTIONS = {"unix": _OPTIONS_ANY_SCHEME, "redis": _OPTIONS_TCP, "rediss": _OPTIONS_TCP | redis_nodes.TLS_OPTIONS}


def check(group: str, url: str) -> None:
    """Raise BadConfiguration for an invalid store URL, which may contain a password and is not shown."""
    if redis_nodes.has_multiple_servers(url):
        redis_nodes.parse(url, group)
        return
    valid_options = ", ".join(f"{scheme}://" for scheme in (*SCHEMES, *redis_nodes.SCHEMES, MEMORY))
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
    options = redis_nodes.read_options(group, parts.query, _OPTIONS[scheme])
    redis_nodes.read_database(group, options.get("db", "0"))
