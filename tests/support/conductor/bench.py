# SPDX-License-Identifier: Apache-2.0
"""Conductors' stores whose clock a test turns, with requests and leases."""

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import redis

from conductor.store import keys
from conductor.store.interface import ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.memory_queue import MemoryQueue
from conductor.store.records import BuildRequestRecord, RequestLease, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer

LEASE_MS = 400


RETENTION_MS = 60


@dataclass
class StoreWithClock:
    """A store and a function that advances its clock.

    ``mark`` returns a copy of the store's data, and ``forget_since`` restores it, as a failover to an old replica does.
    """

    store: ConductorStore
    pass_time: Callable[[int], None]
    now: Callable[[], int]
    mark: Callable[[], Any]
    forget_since: Callable[[Any], None]
    others: list[ConductorStore] = field(default_factory=list)


def request(name: str = "req", **values: Any) -> BuildRequestRecord:
    defaults = {"request_id": f"req-{name}", "project": "p", "user": "u", "flavor": "m1.small", "spec": {"a": 1}}
    return BuildRequestRecord(key=name, **{**defaults, **values})


def take_lease(bench: StoreWithClock) -> RequestLease:
    """Take a lease on the only due request."""
    (lease,) = bench.store.take("me", 10)
    return lease


def redis_bench(server: RedisServer, url: str, lease_ms: int = LEASE_MS) -> Iterator[StoreWithClock]:
    """Yield a store at ``url`` on ``server``, with empty keys."""
    with server.client() as client:
        client.delete(*keys.ALL)
        store = RedisConductorStore(url, StoreTimeouts(lease_ms=lease_ms, retention_ms=RETENTION_MS))

        def now() -> int:
            seconds, micros = client.time()
            return int(seconds) * 1000 + int(micros) // 1000

        def wait(ms: int) -> None:
            until = now() + ms
            while now() < until:
                time.sleep(0.002)

        raw = redis.Redis.from_url(server.url())

        def mark() -> dict[str, bytes]:
            dumped = {name: raw.dump(name) for name in keys.ALL}
            return {name: value for name, value in dumped.items() if value is not None}

        def forget_since(mark: dict[str, bytes]) -> None:
            raw.delete(*keys.ALL)
            for name, value in mark.items():
                raw.restore(name, 0, value)

        yield StoreWithClock(store, wait, now, mark, forget_since)
        store.close()
        raw.close()
        client.delete(*keys.ALL)


def memory_bench(lease_ms: int = LEASE_MS) -> StoreWithClock:
    """Return a store in memory with a manual clock."""
    clock = [1_700_000_000_000]

    def turn(ms: int) -> None:
        clock[0] += ms

    terms = StoreTimeouts(lease_ms=lease_ms, retention_ms=RETENTION_MS)
    store = MemoryConductorStore(terms, lambda: clock[0])

    data = [name for name, value in vars(store).items() if isinstance(value, dict | set | int | MemoryQueue)]

    def mark() -> dict[str, Any]:
        return {name: copy.deepcopy(getattr(store, name)) for name in data}

    def forget_since(mark: dict[str, Any]) -> None:
        for name, value in mark.items():
            setattr(store, name, copy.deepcopy(value))

    return StoreWithClock(store, turn, lambda: clock[0], mark, forget_since)
