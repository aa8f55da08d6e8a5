# SPDX-License-Identifier: Apache-2.0
"""Sizes of a partition's collections in Redis."""

from collections.abc import Iterable

from rpcapi.bounds import CollectionSize
from rpcapi.redis_failover.memory_usage import MeasuredKey, key_type, measure
from scheduler_svc.store.bounded import CLAIMS, HOSTS, LOG, MAPPINGS, PINS, TOMBSTONES
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import KEYS, state_word

# {collection: key words}. The first key gives the number of entries; all count for the size. ``meta`` never grows.
WORDS = {
    CLAIMS: (*MAPPINGS[CLAIMS], "by_host", "tallied"),
    TOMBSTONES: MAPPINGS[TOMBSTONES],
    PINS: (*MAPPINGS[PINS], "pins_at"),
    HOSTS: (*MAPPINGS[HOSTS], "api_changed"),
    LOG: ("log",),
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
