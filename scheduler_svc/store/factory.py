# SPDX-License-Identifier: Apache-2.0
"""Choice of a store's backend by URL."""

from collections.abc import Collection
from typing import Any

from rpcapi import errors
from rpcapi.conf import redis_nodes, redis_url
from rpcapi.conf.replicas import ReplicaAcknowledgement
from scheduler_svc.store import validation
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import DECISION_BYTES, MAX_STEP_MS, Durability, Liveness
from scheduler_svc.store.url import MEMCACHED, NO_CLAIMS, SCHEMES, SQL

REDIS = (*redis_url.SCHEMES, *redis_nodes.SCHEMES)


def open_store(
    url: str,
    partition: str,
    *,
    durability: Durability = "everysec",
    log_length: int = 100_000,
    decision_bytes: int = DECISION_BYTES,
    liveness: Liveness = "beats",
    namespaces: Collection[str] = (),
    replicas: ReplicaAcknowledgement | None = None,
    max_step_ms: int = MAX_STEP_MS,
    wait_seconds: float | None = None,
) -> Store:
    """Return the store of ``partition`` at ``url``, which connects on first use.

    Args:
        durability: Server's appendfsync setting. With "always", restarting a single server begins no new epoch.
        log_length: Maximum number of log entries.
        decision_bytes: Maximum size of the decision record.
        liveness: Source of services' liveness.
        namespaces: Declared namespaces of host state.
        replicas: Redis replicas that must have a claim before it is acknowledged.
        max_step_ms: Longest step of the server's clock that advances partition time.
        wait_seconds: Longest wait for a silent server.

    Raises:
        BadConfiguration: unsupported URL scheme; see SCHEMES.
        InvalidName: invalid partition name.
    """
    validation.check_service_host(partition)
    scheme = url.partition("://")[0]
    options: dict[str, Any] = {
        "log_length": log_length,
        "decision_bytes": decision_bytes,
        "liveness": liveness,
        "namespaces": namespaces,
        "max_step_ms": max_step_ms,
    }
    if scheme == "memory":
        return MemoryStore(partition, **options)
    if scheme in REDIS:
        from scheduler_svc.store.redis import RedisStore  # noqa: PLC0415 - memory needs no redis-py

        return RedisStore(
            url, partition, durability=durability, replicas=replicas, wait_seconds=wait_seconds, **options
        )
    if scheme in SQL:
        from scheduler_svc.store.sql import SqlStore  # noqa: PLC0415 - others need not import SQLAlchemy

        return SqlStore(url, partition, durability=durability, wait_seconds=wait_seconds, **options)
    if scheme == MEMCACHED:
        raise errors.BadConfiguration(why=f"[store] url: {NO_CLAIMS}")
    raise errors.BadConfiguration(why=f"[store] url has the scheme {scheme!r}; supported are {', '.join(SCHEMES)}")


def attach_state_store(
    store: Store, url: str | None, external_namespaces: Collection[str], declared: Collection[str]
) -> None:
    """Keep ``external_namespaces`` in the memcached at ``url``, if any. Raises BadConfiguration if not ``declared``."""
    if url is None:
        return
    unknown = sorted(set(external_namespaces) - set(declared))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[store] state_namespaces: {', '.join(unknown)} not declared; declared: {', '.join(sorted(declared))}"
        )
    from scheduler_svc.store.memcached import MemcachedStates  # noqa: PLC0415 - others need not import pymemcache

    store.external = ExternalStates(MemcachedStates(url, store.partition), external_namespaces)
