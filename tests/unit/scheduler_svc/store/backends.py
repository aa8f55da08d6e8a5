# SPDX-License-Identifier: Apache-2.0
"""A world on each backend: partitions of their own, and each backend's way to pass time and to forget."""

import copy
import json
import uuid
from dataclasses import replace
from typing import Any

import redis

from devstack.servers.redis import RedisServer
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.memory.partition import MemoryPartition
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import KEYS, prefix
from tests.functional.failover.setups import SetUp
from tests.unit.scheduler_svc.store.world import ManualClock, World, faulty_world


def memory_world(*, partition: str = "p1", **options: Any) -> World:
    """Return a partition in memory, with a clock of the test's own."""
    clock = ManualClock()
    store = MemoryStore(partition, clock=clock, **options)

    def wait_until(moment: int) -> None:
        clock.now = max(clock.now, moment)

    def forget_since(mark: MemoryPartition) -> int:
        epoch = store.state.epoch
        store.state = copy.deepcopy(mark)
        store.state.epoch = epoch  # an epoch is never forgotten: its number is known to every worker
        return store.begin_epoch()

    def pass_deadline_of(consumer: str) -> None:
        claim = store.state.claims[consumer]
        store.state.claims[consumer] = replace(claim, deadline_ms=clock.now)
        if consumer in store.state.deadlines:
            store.state.deadlines[consumer] = clock.now

    def mark() -> MemoryPartition:
        return copy.deepcopy(store.state)

    return World(store, clock, wait_until, store.begin_epoch, mark, forget_since, pass_deadline_of)


def redis_world(server: RedisServer, *, url: str | None = None, partition: str | None = None, **options: Any) -> World:
    """Return a new partition on ``server``; its time is real, so that lifetimes to wait for are short.

    ``url`` is what leads the store to that server, where it is not the server's own.
    """
    partition = partition or uuid.uuid4().hex[:12]
    store = RedisStore(url or server.url(), partition, **options)
    return faulty_world(store, RedisFaults(server, partition))


def following_world(setup: SetUp, **options: Any) -> World:
    """Return a new partition on servers that could fail over; in a cluster any of its primaries may get it."""
    partition = uuid.uuid4().hex[:12]
    return redis_world(setup.primary(prefix(partition)), url=setup.url(None), partition=partition, **options)


class RedisFaults:
    """What befalls a partition in Redis, done to its keys."""

    def __init__(self, server: RedisServer, partition: str) -> None:
        self._text = server.client()
        self._raw = redis.Redis.from_url(server.url())
        self._head = prefix(partition)

    def now(self) -> int:
        """Return the server's time in milliseconds."""
        seconds, micros = self._text.time()
        return seconds * 1000 + micros // 1000

    def look_like_another_server(self) -> None:
        """Make the partition one that was last served by a server that is no more."""
        self._text.hset(self._head + "meta", "run_id", "another")

    def mark(self) -> dict[str, bytes]:
        """Return all that the partition holds."""
        dumped = {word: self._raw.dump(self._head + word) for word in KEYS}
        return {word: value for word, value in dumped.items() if value is not None}

    def restore(self, mark: dict[str, bytes]) -> None:
        """Put the partition back to ``mark``."""
        with self._raw.pipeline(transaction=True) as pipeline:
            pipeline.delete(*(self._head + word for word in KEYS))
            for word, value in mark.items():
                pipeline.restore(self._head + word, 0, value)
            pipeline.execute()
        self.look_like_another_server()

    def pass_deadline_of(self, consumer: str) -> None:
        """Let a deadline pass."""
        claim = json.loads(self._text.hget(self._head + "claims", consumer) or "{}")
        claim["deadline_ms"] = self.now()
        self._text.hset(self._head + "claims", consumer, json.dumps(claim))
        self._text.zadd(self._head + "deadlines", {consumer: claim["deadline_ms"]}, xx=True)
