# SPDX-License-Identifier: Apache-2.0
"""Validation of Redis URLs without redis-py, which the master process of a daemon must not import."""

from urllib.parse import parse_qsl, urlsplit

from rpcapi import errors
from rpcapi.conf import redis_nodes

SCHEMES = ("redis", "rediss", "unix")
MEMORY = "memory"  # the in-process store, for trials
_OPTIONS_ANY_SCHEME = {"db", "username", "password", "client_name", "socket_timeout", "health_check_interval"}
_OPTIONS_TCP = _OPTIONS_ANY_SCHEME | {"socket_connect_timeout", "socket_keepalive"}
_OPTIONS = {"unix": _OPTIONS_ANY_SCHEME, "redis": _OPTIONS_TCP, "rediss": _OPTIONS_TCP | redis_nodes.TLS_OPTIONS}


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
    options = parse_qsl(parts.query, keep_blank_values=True)
    for name, value in options:
        _check_option(group, _OPTIONS[scheme], name, value)
    redis_nodes.check_tls_values(group, dict(options))


def _check_option(group: str, valid_options: set[str], name: str, value: str) -> None:
    if name not in valid_options:
        # The option is not shown: when a '?' in the password is not written as %3F, it is a part of the password.
        raise errors.BadConfiguration(
            why=f"[{group}] url has an unknown option after its '?'; known: {', '.join(sorted(valid_options))}"
        )
    if name == "db" and not (value.isascii() and value.isdigit()):
        raise errors.BadConfiguration(why=f"[{group}] url: db must be a number")
