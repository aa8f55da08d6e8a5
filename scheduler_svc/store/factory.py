# SPDX-License-Identifier: Apache-2.0
"""Opens the store that a URL names."""

from collections.abc import Collection
from typing import Any

from rpcapi import errors
from rpcapi.conf import redis_nodes, redis_url
from rpcapi.conf.replicas import Replicas
from scheduler_svc.conf.store_url import MEMCACHED, NO_CLAIMS, SCHEMES, SQL
from scheduler_svc.store import validation
from scheduler_svc.store.beside import BesideStore
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Durability, Liveness

REDIS = (*redis_url.SCHEMES, *redis_nodes.SCHEMES)


def open_store(
    url: str,
    partition: str,
    *,
    durability: Durability = "everysec",
    log_length: int = 100_000,
    decisions: int = 10_000,
    liveness: Liveness = "beats",
    namespaces: Collection[str] = (),
    replicas: Replicas | None = None,
) -> Store:
    """Return the store of ``partition`` behind ``url``, whose scheme is one of SCHEMES.

    Nothing is sent yet: a store that is away is met by the first verb. ``durability`` is what the server's
    appendfsync is set to: with "always" on a single server a restart forgets nothing and opens no new epoch.
    ``log_length`` and ``decisions`` bound the log and the decision record, in entries. ``liveness`` is who tells
    which services live, ``namespaces`` are the declared ones of host state. ``replicas`` is how many of a Redis'
    replicas must have a claim before it is acknowledged.
    Raises BadConfiguration for a URL of another kind, InvalidName for an impossible partition.
    """
    validation.check_service_host(partition)
    scheme = url.partition("://")[0]
    options: dict[str, Any] = {
        "log_length": log_length,
        "decisions": decisions,
        "liveness": liveness,
        "namespaces": namespaces,
    }
    if scheme == "memory":
        return MemoryStore(partition, **options)
    if scheme in REDIS:
        from scheduler_svc.store.redis import RedisStore  # noqa: PLC0415 - memory needs no redis-py installed

        return RedisStore(url, partition, durability=durability, replicas=replicas, **options)
    if scheme in SQL:
        return _open_sql(url, partition, durability, options)
    if scheme == MEMCACHED:
        raise errors.BadConfiguration(why=f"[store] url: {NO_CLAIMS}")
    raise errors.BadConfiguration(why=f"[store] url has the scheme {scheme!r}; known are {', '.join(SCHEMES)}")


def open_beside(store: Store, url: str | None, apart: Collection[str], declared: Collection[str]) -> Store:
    """Return ``store``, with the documents of namespaces ``apart`` in the memcached at ``url``, where one is given.

    Raises BadConfiguration for a namespace that is not ``declared``.
    """
    if url is None:
        return store
    unknown = sorted(set(apart) - set(declared))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[store] state_namespaces names {', '.join(unknown)}; declared are {', '.join(sorted(declared))}"
        )
    try:
        from scheduler_svc.store.memcached import MemcachedStates  # noqa: PLC0415 - others need no pymemcache installed
    except ImportError as error:
        raise errors.BadConfiguration(
            why=f"[store] state_url names a memcached, and {error.name} is missing: install gantt[memcached]"
        ) from error
    return BesideStore(store, MemcachedStates(url, store.partition), apart)


def _open_sql(url: str, partition: str, durability: Durability, options: dict[str, Any]) -> Store:
    try:
        from scheduler_svc.store.sql import SqlStore  # noqa: PLC0415 - others need no SQLAlchemy installed
    except ImportError as error:
        raise errors.BadConfiguration(
            why=f"[store] url names a SQL database, and {error.name} is missing: install gantt[sqlalchemy]"
        ) from error
    return SqlStore(url, partition, durability=durability, **options)
