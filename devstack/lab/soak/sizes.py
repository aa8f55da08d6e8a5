# SPDX-License-Identifier: Apache-2.0
"""The size of a partition's store: number of entries, bytes, and resident memory of its process."""

import ctypes
import gc
import pickle
from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any, NamedTuple

from devstack.servers.redis import RedisServer
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis.keys import prefix

LENGTHS: dict[str, Callable[[Any, str], int]] = {
    "hash": lambda client, key: client.hlen(key),
    "zset": lambda client, key: client.zcard(key),
    "set": lambda client, key: client.scard(key),
    "stream": lambda client, key: client.xlen(key),
}


class StoreSize(NamedTuple):
    """``keys`` counts the entries of all collections; ``rss_kb`` is the memory of the process that has the store."""

    keys: int
    bytes: int
    rss_kb: int


def of_memory(store: MemoryStore) -> StoreSize:
    """Return the size of a store in this process; its bytes are those of its pickled collections."""
    collections = [value for value in vars(store.state).values() if isinstance(value, Sized)]
    size = sum(len(pickle.dumps(collection)) for collection in collections)
    keys = sum(len(collection) for collection in collections)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free is not used
    return StoreSize(keys, size, resident_kb("self"))


def of_redis(server: RedisServer, partition: str) -> StoreSize:
    """Return the size of a partition that is alone on its server; its bytes are what Redis counts for data."""
    with server.client() as client:
        keys = client.keys(prefix(partition) + "*")
        count = sum(LENGTHS[client.type(key)](client, key) for key in keys)
        client.execute_command("MEMORY", "PURGE")
        info = client.info()
        used = info["used_memory"] - client.memory_stats()["overhead.total"]
        return StoreSize(count, used, resident_kb(info["process_id"]))


def resident_kb(process: int | str) -> int:
    """Return the resident memory of a process in KiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
