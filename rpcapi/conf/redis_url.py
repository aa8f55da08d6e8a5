# SPDX-License-Identifier: Apache-2.0
"""Validation of Redis URLs without redis-py, which the master process of a daemon must not import."""

from urllib.parse import parse_qsl, urlsplit

from rpcapi import errors
from rpcapi.conf import redis_nodes

SCHEMES = ("redis", "rediss", "unix")
MEMORY = "memory"  # the in-process store, for trials
_OPTIONS_ANY_SCHEME = {"db", "username", "password", "client_name", "socket_timeout", "health_check_interval"}
_OPTIONS_TCP = _OPTIONS_ANY_SCHEME | {"socket_connect_timeout", "socket_keepalive"}


def check(group: str, url: str) -> None:
    """Raise BadConfiguration unless option ``url`` of ``group`` is a valid store URL.

    The URL is not shown: a mistyped one may have the password anywhere.
    """
    if redis_nodes.has_multiple_servers(url):
        redis_nodes.parse(url, group)
        return
    valid_options = ", ".join(f"{scheme}://" for scheme in (*SCHEMES, *redis_nodes.SCHEMES, MEMORY))
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in (*SCHEMES, MEMORY):
        raise errors.BadConfiguration(why=f"[{group}] url must begin with one of {valid_options}")
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading it validates it
    except ValueError:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an invalid address: write {scheme}://user:password@host:port/0, with special "
            "characters of the password as %nn"
        ) from None
    if scheme == MEMORY:
        return
    if scheme == "unix" and not parts.path.strip("/"):
        raise errors.BadConfiguration(why=f"[{group}] url has no socket path: write unix:///path/redis.sock?db=0")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        _check_option(group, scheme, name, value)


def _check_option(group: str, scheme: str, name: str, value: str) -> None:
    valid_options = _OPTIONS_ANY_SCHEME if scheme == "unix" else _OPTIONS_TCP
    if name not in valid_options and not (scheme == "rediss" and name.startswith("ssl_")):
        # The option is not shown: when a '?' in the password is not written as %3F, it is a part of the password.
        more = ", ssl_..." if scheme == "rediss" else ""
        raise errors.BadConfiguration(
            why=f"[{group}] url has an unknown option after its '?'; known: {', '.join(sorted(valid_options))}{more}"
        )
    if name == "db" and not (value.isascii() and value.isdigit()):
        raise errors.BadConfiguration(why=f"[{group}] url: db must be a number")
