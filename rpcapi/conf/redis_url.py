# SPDX-License-Identifier: Apache-2.0
"""Is a URL one of a Redis? Told without redis-py, which a daemon's master must not need."""

from urllib.parse import parse_qsl, urlsplit

from rpcapi import errors
from rpcapi.conf import redis_nodes

SCHEMES = ("redis", "rediss", "unix")
MEMORY = "memory"  # the store of one process, for trials
_ANYWHERE = {"db", "username", "password", "client_name", "socket_timeout", "health_check_interval"}
_OVER_TCP = _ANYWHERE | {"socket_connect_timeout", "socket_keepalive"}


def check(group: str, url: str) -> None:
    """Raise BadConfiguration unless option ``url`` of ``group`` can name a store.

    It is not shown: a password may be anywhere in it, for one that is mistyped.
    """
    if redis_nodes.names_several(url):
        redis_nodes.parse(url, group)
        return
    known = ", ".join(f"{scheme}://" for scheme in (*SCHEMES, *redis_nodes.SCHEMES, MEMORY))
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in (*SCHEMES, MEMORY):
        raise errors.BadConfiguration(why=f"[{group}] url must begin with one of {known}")
    try:
        parts = urlsplit(url)
        _ = parts.port  # read, it is checked
    except ValueError:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an address that is none: write {scheme}://user:password@host:port/0, with special "
            "characters of the password as %nn"
        ) from None
    if scheme == MEMORY:
        return
    if scheme == "unix" and not parts.path.strip("/"):
        raise errors.BadConfiguration(why=f"[{group}] url names no socket: write unix:///path/redis.sock?db=0")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        _check_option(group, scheme, name, value)


def _check_option(group: str, scheme: str, name: str, value: str) -> None:
    known = _ANYWHERE if scheme == "unix" else _OVER_TCP
    if name not in known and not (scheme == "rediss" and name.startswith("ssl_")):
        # Named by what is known: with a password's '?' not written as %3F this is half of the password.
        more = ", ssl_..." if scheme == "rediss" else ""
        raise errors.BadConfiguration(
            why=f"[{group}] url has an unknown option after its '?'; there are {', '.join(sorted(known))}{more}"
        )
    if name == "db" and not (value.isascii() and value.isdigit()):
        raise errors.BadConfiguration(why=f"[{group}] url has a db that is no number")
