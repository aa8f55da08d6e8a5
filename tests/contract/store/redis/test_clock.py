# SPDX-License-Identifier: Apache-2.0
"""The partition's time in Redis: its lead, its beginning, and workers with different limits."""

from devstack.servers.redis import RedisServer
from scheduler_svc.store.records import MAX_STEP_MS
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.clock import lead
from scheduler_svc.store.redis.keys import prefix
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition

HOUR_MS = 3_600_000


def recorded(server: RedisServer, partition: StorePartition) -> tuple[int, int]:
    """Return the recorded time and clock."""
    time, clock = server.client().hmget(prefix(partition.store.partition) + "meta", "time", "clock")
    assert time is not None and clock is not None
    return int(time), int(clock)


def test_lead_is_what_the_clock_is_ahead() -> None:
    assert lead("1000", "4000") == 3000
    assert lead("4000", "1000") == -3000
    assert lead(None, None) == 0


def test_lead_is_read_from_the_partition(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    redis_server.client().hincrby(prefix(partition.store.partition) + "meta", "time", HOUR_MS)
    assert partition.store.clock_lead() == -HOUR_MS
    partition.store.close()


def test_new_partition_begins_at_the_servers_clock(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.store.check_identity()
    assert partition.store.clock_lead() == 0
    partition.add_host("h1")
    time, clock = recorded(redis_server, partition)
    assert time == clock
    partition.store.close()


def test_workers_with_different_limits_advance_the_same_time(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    other = RedisStore(redis_server.url(), partition.store.partition, max_step_ms=1_000)
    before, _clock = recorded(redis_server, partition)
    partition.step_clock(HOUR_MS)
    other.hosts_of(["c1"])  # the first worker after the step decides what it counts
    between, _clock = recorded(redis_server, partition)
    assert between - before == 1_000
    partition.step_clock(HOUR_MS)
    partition.store.hosts_of(["c1"])
    assert recorded(redis_server, partition)[0] - between == MAX_STEP_MS
    other.close()
    partition.store.close()


def test_any_script_records_the_clock_whichever_way_it_stepped(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    before, clock = recorded(redis_server, partition)
    partition.step_clock(-HOUR_MS)
    partition.store.hosts_of(["nobody"])
    time, now_clock = recorded(redis_server, partition)
    assert time == before
    assert clock <= now_clock < clock + HOUR_MS
    partition.store.close()
