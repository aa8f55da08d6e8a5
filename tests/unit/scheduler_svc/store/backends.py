# SPDX-License-Identifier: Apache-2.0
"""A world on each backend: partitions of their own, and each backend's way to pass time and to forget."""

import uuid
from typing import Any

from devstack.servers.redis import RedisServer
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from tests.unit.scheduler_svc.store.world import ManualClock, World, poll


def memory_world(**options: Any) -> World:
    """Return a partition in memory, with a clock of the test's own."""
    clock = ManualClock()
    store = MemoryStore("p1", clock=clock, **options)

    def wait_until(moment: int) -> None:
        clock.now = max(clock.now, moment)

    return World(store, clock, wait_until, store.bump)


def redis_world(server: RedisServer, **options: Any) -> World:
    """Return a new partition on ``server``; its time is real, so that lifetimes to wait for are short."""
    partition = uuid.uuid4().hex[:12]
    store = RedisStore(server.url(), partition, **options)
    client = server.client()

    def now() -> int:
        seconds, micros = client.time()
        return seconds * 1000 + micros // 1000

    def new_epoch() -> int:
        # As if the partition had last been served by another server.
        client.hset(f"gantt:{{p:{partition}}}:meta", "run_id", "another")
        return store.check_identity()[0]

    return World(store, now, lambda moment: poll(lambda: now() >= moment), new_epoch)
