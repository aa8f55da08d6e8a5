# SPDX-License-Identifier: Apache-2.0
"""Which store a URL names."""

from conductor.store.interface import Store
from conductor.store.memory import MemoryStore
from conductor.store.records import Terms
from conductor.store.redis import RedisStore
from rpcapi import errors

REDIS_SCHEMES = ("redis://", "rediss://", "unix://")


def open_store(url: str, terms: Terms) -> Store:
    """Open the store at ``url``; nothing connects yet. ``memory://`` is this process's own, for tests and trials.

    Raises BadConfiguration for a URL of another kind.
    """
    if url.startswith(REDIS_SCHEMES):
        return RedisStore(url, terms)
    if url == "memory://":
        return MemoryStore(terms)
    scheme = url.partition(":")[0]
    raise errors.BadConfiguration(
        why=f"[conductor_store] url has scheme '{scheme}': give a redis://, rediss:// or unix:// URL"
    )
