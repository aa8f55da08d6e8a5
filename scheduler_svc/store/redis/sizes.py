# SPDX-License-Identifier: Apache-2.0
"""Sizes of a partition's collections in Redis."""

from collections.abc import Iterable

from rpcapi.bounds import CollectionSize
from rpcapi.redis_failover.memory_usage import MeasuredKey, key_type, measure
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import KEYS, state_word

# {collection: key words}; the entries of the first key count. ``meta`` never grows.
WORDS = {
    "claims": ("claims", "sources", "by_host", "deadlines", "groups", "unverified", "holders", "tallies", "tallied"),
    "tombstones": ("ended", "ended_at"),
    "pins": ("pins", "pins_at"),
    "hosts": (
        *("providers", "capacity", "used", "changed", "eligible", "excess"),
        *("generations", "provider_names", "children", "api_changed"),
        *("services", "reports", "beats", "alive", "opened", "awaited", "clock_offsets"),
    ),
    "log": ("log",),
    "decisions": ("decisions", "decided"),
}


def sizes(connection: RedisConnection, namespaces: Iterable[str]) -> dict[str, CollectionSize]:
    collections = {
        name: [MeasuredKey(word, key_type(KEYS[word]), word == words[0]) for word in words]
        for name, words in WORDS.items()
    }
    collections["documents"] = [
        MeasuredKey(state_word(namespace), key_type(KEYS["state"]), True) for namespace in sorted(namespaces)
    ]
    return measure(connection.read, collections)
