# SPDX-License-Identifier: Apache-2.0
"""Opening of a store with the backend that its URL names."""

from collections.abc import Collection
from typing import Unpack

from rpcapi import errors
from rpcapi.conf import redis_url
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.store import validation
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import StoreOptions
from scheduler_svc.store.url import MEMCACHED, NO_CLAIMS, SCHEMES, SQL

REDIS = (*redis_url.SCHEMES, *redis_url.MULTI_SERVER_SCHEMES)


def open_store(
    url: str,
    partition: str,
    **options: Unpack[StoreOptions],
) -> Store:
    """Return the store of ``partition`` at ``url``, which connects on first use.

    Raises:
        BadConfiguration: unsupported URL scheme; see SCHEMES.
        InvalidName: invalid partition name.
    """
    validation.check_service_host(partition)
    scheme = url.partition("://")[0]
    if scheme == "memory":
        return MemoryStore(partition, **options)
    if scheme in REDIS:
        from scheduler_svc.store.redis import RedisStore  # noqa: PLC0415 - other backends need no redis-py

        return RedisStore(url, partition, **options)
    if scheme in SQL:
        from scheduler_svc.store.sql import SqlStore  # noqa: PLC0415 - other backends need no SQLAlchemy

        return SqlStore(url, partition, **options)
    if scheme == MEMCACHED:
        raise errors.BadConfiguration(why=f"[store] url: {NO_CLAIMS}")
    raise errors.BadConfiguration(why=f"[store] url has the scheme {scheme!r}; supported are {', '.join(SCHEMES)}")


def attach_state_store(store: Store, url: str | None, external_namespaces: Collection[str]) -> None:
    """Store the documents of ``external_namespaces`` in the memcached at ``url``; None keeps them in the store.

    Raises BadConfiguration if the store does not declare one of the namespaces, or if the sums depend on it.
    """
    if url is None:
        return
    if compute_node.NAMESPACE in external_namespaces:
        raise errors.BadConfiguration(
            why=f"[store] state_namespaces: {compute_node.NAMESPACE} must be in the store, which counts builds by it"
        )
    declared = store.options["namespaces"]
    unknown = sorted(set(external_namespaces) - set(declared))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[store] state_namespaces: {', '.join(unknown)} not declared; declared: {', '.join(sorted(declared))}"
        )
    from scheduler_svc.store.memcached import MemcachedStates  # noqa: PLC0415 - other stores need no pymemcache

    store.external = ExternalStates(MemcachedStates(url, store.partition), external_namespaces)
