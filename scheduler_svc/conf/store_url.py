# SPDX-License-Identifier: Apache-2.0
"""Is a URL one of a store? Told without any backend's library, which a daemon's master must not need."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from rpcapi import errors
from rpcapi.conf import redis_nodes, redis_url

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
SQL = (SQLITE, POSTGRESQL)
MEMCACHED = "memcached"
SCHEMES = (*redis_url.SCHEMES, *redis_nodes.SCHEMES, *SQL, redis_url.MEMORY)
NO_CLAIMS = (
    "memcached cannot hold claims: one request claims on several hosts or on none, and memcached changes one document "
    "at a time; and it may evict what it acknowledged. It can hold declared host state: [store] state_url"
)
_POSTGRESQL_OPTIONS = frozenset(
    {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "target_session_attrs", "passfile"}
)


def check(group: str, url: str) -> None:
    """Raise BadConfiguration unless option ``url`` of ``group`` can name a store.

    It is not shown: a password may be anywhere in it, for one that is mistyped.
    """
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme == MEMCACHED:
        raise errors.BadConfiguration(why=f"[{group}] url: {NO_CLAIMS}")
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise errors.BadConfiguration(why=f"[{group}] url must begin with one of {allowed}")
    if scheme == SQLITE:
        _check_sqlite(group, url)
    elif scheme == POSTGRESQL:
        _check_postgresql(group, url)
    else:
        redis_url.check(group, url)


def check_state_url(group: str, url: str | None, namespaces: Sequence[str]) -> None:
    """Raise BadConfiguration unless ``state_url`` is none, or a memcached's that ``namespaces`` are for."""
    if (url is None) != (not namespaces):
        raise errors.BadConfiguration(
            why=f"[{group}] state_url and state_namespaces need each other: set both, or none"
        )
    if url is None:
        return
    try:
        parts = urlsplit(url)
        is_place = bool(parts.path.strip("/")) if not parts.netloc else bool(parts.hostname)
        is_good = parts.scheme == MEMCACHED and is_place and (parts.port is None or not parts.path.strip("/"))
    except ValueError:
        is_good = False
    if not is_good:
        raise errors.BadConfiguration(
            why=f"[{group}] state_url must be memcached://host:port or memcached:///path/memcached.sock"
        )
    # What an aggregate's change means to claims on its members is written in the same step as its document.
    reserved = sorted({"compute", "service", "aggregate"} & set(namespaces))
    if reserved:
        raise errors.BadConfiguration(why=f"[{group}] state_namespaces: {', '.join(reserved)} cannot leave the store")


def _check_sqlite(group: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.netloc or parts.query or not parts.path.startswith("//") or not parts.path.strip("/"):
        raise errors.BadConfiguration(
            why=f"[{group}] url must name a file by its whole path: sqlite:////var/lib/gantt/store.sqlite"
        )


def _check_postgresql(group: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # read, it is checked
    except ValueError:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an address that is none: write postgresql://user:password@host:port/database, with "
            "special characters of the password as %nn"
        ) from None
    if not parts.path.strip("/"):
        raise errors.BadConfiguration(why=f"[{group}] url names no database: write postgresql://user@host/database")
    unknown = {name for name, _value in parse_qsl(parts.query, keep_blank_values=True)} - _POSTGRESQL_OPTIONS
    if unknown:
        # Named by what is known: with a password's '?' not written as %3F this is half of the password.
        allowed = ", ".join(sorted(_POSTGRESQL_OPTIONS))
        raise errors.BadConfiguration(why=f"[{group}] url has an unknown option after its '?'; there are {allowed}")
