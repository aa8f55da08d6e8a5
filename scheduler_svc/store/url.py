# SPDX-License-Identifier: Apache-2.0
"""Validation of store URLs, without backend libraries: a daemon's master process must not import them."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from rpcapi import errors
from rpcapi.conf import redis_url

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
SQL = (SQLITE, POSTGRESQL)
MEMCACHED = "memcached"
SCHEMES = (*redis_url.SCHEMES, *redis_url.MULTI_SERVER_SCHEMES, *SQL, redis_url.MEMORY)
NO_CLAIMS = (
    "memcached cannot store claims: it has no atomic change of several documents and may evict acknowledged writes. "
    "It can store declared host state: [store] state_url"
)
_POSTGRESQL_OPTIONS = frozenset(
    {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "target_session_attrs", "passfile"}
)


def check(group: str, url: str) -> None:
    """Raise BadConfiguration unless ``url`` is a valid store URL. The error never shows the URL's password."""
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
    """Raise BadConfiguration unless ``url`` is a memcached URL with allowed ``namespaces``, or neither is set."""
    if (url is None) != (not namespaces):
        raise errors.BadConfiguration(why=f"[{group}] state_url and state_namespaces must be set together, or neither")
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
    # Aggregates must stay in the store: their changes atomically make decisions on their hosts stale.
    reserved = sorted({"compute", "service", "aggregate"} & set(namespaces))
    if reserved:
        raise errors.BadConfiguration(why=f"[{group}] state_namespaces: {', '.join(reserved)} must stay in the store")


def _check_sqlite(group: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.netloc or parts.query or not parts.path.startswith("//") or not parts.path.strip("/"):
        raise errors.BadConfiguration(
            why=f"[{group}] url must contain the absolute path of a file: sqlite:////var/lib/gantt/store.sqlite"
        )


def _check_postgresql(group: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # reading it validates it
    except ValueError:
        raise errors.BadConfiguration(
            why=f"[{group}] url has an invalid address: write postgresql://user:password@host:port/database, with "
            "special characters of the password as %nn"
        ) from None
    if not parts.path.strip("/"):
        raise errors.BadConfiguration(why=f"[{group}] url has no database: write postgresql://user@host/database")
    unknown = {name for name, _value in parse_qsl(parts.query, keep_blank_values=True)} - _POSTGRESQL_OPTIONS
    if unknown:
        # Show only the allowed options: the unknown option may be the end of a password with an unescaped '?'.
        allowed = ", ".join(sorted(_POSTGRESQL_OPTIONS))
        raise errors.BadConfiguration(why=f"[{group}] url has an unknown option after '?'; allowed: {allowed}")
