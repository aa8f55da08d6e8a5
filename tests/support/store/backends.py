# SPDX-License-Identifier: Apache-2.0
"""Partitions under test for the memory and Redis backends: a new partition, its clock, and its faults."""

import json
import pickle
import uuid
from dataclasses import replace
from typing import Any

import redis

from devstack.deploy.users.redis_users import ADMIN
from devstack.servers.redis import RedisServer
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import MAX_STEP_MS
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from tests.support.clusters.setups import FailoverSetup
from tests.support.store.store_partition import ManualClock, StorePartition, own_time, server_partition


def memory_partition(*, partition: str = "p1", **options: Any) -> StorePartition:
    """Return a partition in memory with a manual clock."""
    clock = ManualClock()
    store = MemoryStore(partition, clock=clock, **options)

    def time() -> int:
        return own_time(store.state.time_ms, store.state.clock_ms, clock.now)

    def wait_until(moment: int) -> None:
        while time() < moment:
            store.hosts_of([])  # as any worker's verb, it records the time so far
            clock.now += min(moment - time(), MAX_STEP_MS)

    def step_clock(step_ms: int) -> None:
        clock.now += step_ms

    def forget_since(mark: bytes) -> int:
        epoch, position = store.state.epoch, store.state.position
        store.state = pickle.loads(mark)  # noqa: S301 - of mark
        store.state.epoch, store.state.position = epoch, position  # both survive: every worker has observed them
        return store.begin_epoch()

    def pass_deadline_of(consumer: str) -> None:
        claim = store.state.claims[consumer]
        store.state.claims[consumer] = replace(claim, deadline_ms=1)
        if consumer in store.state.deadlines:
            store.state.deadlines[consumer] = 1

    def mark() -> bytes:
        return pickle.dumps(store.state)

    return StorePartition(store, time, wait_until, store.begin_epoch, mark, forget_since, pass_deadline_of, step_clock)


def redis_partition(
    server: RedisServer, *, url: str | None = None, partition: str | None = None, **options: Any
) -> StorePartition:
    """Return a new partition on ``server``; its time is real, so use short lifetimes to wait for.

    ``url`` is the store URL, if it is not the server's own.
    """
    partition = partition or uuid.uuid4().hex[:12]
    store = RedisStore(url or server.url(), partition, **options)
    return server_partition(store, RedisFaults(server, partition))


def failover_partition(setup: FailoverSetup, **options: Any) -> StorePartition:
    """Return a new partition on servers with failover; in a cluster, on the primary of its slot."""
    partition = uuid.uuid4().hex[:12]
    return redis_partition(setup.primary(prefix(partition)), url=setup.url(None), partition=partition, **options)


class RedisFaults:
    """Fault injection for a partition in Redis, by changing its keys."""

    def __init__(self, server: RedisServer, partition: str) -> None:
        self._text = server.client()
        self._raw = redis.Redis.from_url(server.url(ADMIN.name if server.users else None))
        self._head = prefix(partition)

    def now(self) -> int:
        """Return the partition's time in milliseconds, as the next script will advance it."""
        seconds, micros = self._text.time()
        recorded = self._text.hmget(self._head + "meta", "time", "clock")
        time, clock = (None if value is None else int(value) for value in recorded)
        return own_time(time, clock, seconds * 1000 + micros // 1000)

    def step_clock(self, step_ms: int) -> None:
        """Step the server's clock, as the partition sees it: by the recorded reading."""
        self._text.hincrby(self._head + "meta", "clock", -step_ms)

    def change_server_identity(self) -> None:
        """Record another server's identity in the partition, as if that server had served it last."""
        self._text.hset(self._head + "meta", "run_id", "another")

    def mark(self) -> dict[str, bytes]:
        """Return a copy of the partition's data."""
        dumped = {key.decode(): self._raw.dump(key) for key in self._keys()}
        return {key: value for key, value in dumped.items() if value is not None}

    def _keys(self) -> list[bytes]:
        return list(self._raw.scan_iter(match=self._head + "*", count=1000))

    def restore(self, mark: dict[str, bytes], *, as_another_server: bool = True) -> None:
        """Restore the partition to ``mark``, as if another server had served it last."""
        with self._raw.pipeline(transaction=True) as pipeline:
            pipeline.delete(*self._keys())
            for key, value in mark.items():
                pipeline.restore(key, 0, value)
            pipeline.execute()
        if as_another_server:
            self.change_server_identity()

    def pass_deadline_of(self, consumer: str) -> None:
        """Set the deadline of a consumer's claim to a time long past."""
        claim = json.loads(self._text.hget(self._head + "claims", consumer) or "{}")
        claim["deadline_ms"] = 1
        self._text.hset(self._head + "claims", consumer, json.dumps(claim))
        self._text.zadd(self._head + "deadlines", {consumer: claim["deadline_ms"]}, xx=True)


def partition_on(server: RedisServer, store: RedisStore) -> StorePartition:
    """Return a partition with the given store."""
    new_partition = redis_partition(server)
    new_partition.store.close()
    new_partition.store = store
    return new_partition
