# SPDX-License-Identifier: Apache-2.0
"""Epochs and own time of the conductors' store in Redis, on servers that restart, are emptied, or step their clock."""

from collections.abc import Callable
from typing import Any

import pytest

from conductor.store import keys
from conductor.store.records import LeaseLost, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from tests.support.conductor.bench import request

META = keys.key("meta")
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LEASE_MS = 30_000


def recorded(server: RedisServer, name: str) -> int:
    """Return a number that the store has recorded of itself."""
    with server.client() as client:
        return int(client.hget(META, name) or 0)


@pytest.mark.parametrize(
    ("appendonly", "is_durable", "keeps"), [("always", True, True), ("everysec", False, False), ("no", True, False)]
)
def test_restart_keeps_the_epoch_only_where_nothing_was_forgotten(
    make_redis: Callable[..., RedisServer], appendonly: str, is_durable: bool, keeps: bool
) -> None:
    server = make_redis(appendonly=appendonly)
    store = RedisConductorStore(server.url(), is_durable=is_durable)
    store.record(request(), ["a"])
    epoch = recorded(server, "epoch")
    server.kill()
    server.start()
    store.get(["a"])
    assert (recorded(server, "epoch") == epoch) is keeps
    assert recorded(server, "epoch") >= epoch > 0
    store.close()


def test_store_that_lost_an_accepted_request_begins_an_epoch(make_redis: Callable[..., RedisServer]) -> None:
    # Given a server that is durable, and the copy of its data from before a request
    server = make_redis(appendonly="always")
    store = RedisConductorStore(server.url(), is_durable=True)
    store.record(request("first"), ["a"])
    with server.client() as client:
        sequence = client.hget(META, "sequence")
    store.record(request("second"), ["b"])
    epoch = recorded(server, "epoch")
    # When it comes back with the copy
    with server.client() as client:
        client.hset(META, "sequence", str(sequence))
    server.kill()
    server.start()
    store.get(["a"])
    # Then it has begun an epoch, and gives no number twice
    assert recorded(server, "epoch") > epoch
    assert recorded(server, "sequence") == int(str(sequence)) + 1
    store.close()


def test_store_that_is_emptied_while_it_runs_begins_an_epoch(make_redis: Callable[..., RedisServer]) -> None:
    server = make_redis()
    store = RedisConductorStore(server.url())
    store.record(request(), ["a"])
    (lease,) = store.take("me", 1)
    epoch = recorded(server, "epoch")
    with server.client() as client:
        client.flushall()
    assert store.take("me", 1) == []
    assert recorded(server, "epoch") > epoch
    with pytest.raises(LeaseLost):
        store.load(lease)
    store.close()


def test_callers_may_repeat_lost_requests_until_the_horizon_has_passed(make_redis: Callable[..., RedisServer]) -> None:
    server = make_redis()
    for horizon_ms, may_repeat in ((900_000, True), (1, False)):
        store = RedisConductorStore(server.url(), StoreTimeouts(repeat_horizon_ms=horizon_ms))
        name = f"r{horizon_ms}"
        store.record(request(name), [name])
        assert store.load(store.take("me", 1)[0]).may_repeat is may_repeat
        store.close()


@pytest.fixture
def step_clock(redis_server: RedisServer) -> Any:
    """Return a function that emulates a step of the server's clock, by changing its reading as recorded."""

    def step(ms: int) -> None:
        with redis_server.client() as client:
            client.hincrby(META, "clock", -ms)

    return step


def test_lease_is_taken_over_in_time_although_the_clock_steps(redis_server: RedisServer, step_clock: Any) -> None:
    with redis_server.client() as client:
        client.delete(*keys.ALL)
    store = RedisConductorStore(redis_server.url(), StoreTimeouts(lease_ms=LEASE_MS, max_step_ms=10_000))
    store.record(request(), ["a"])
    (lease,) = store.take("first", 1)
    # When the clock goes 30 days forward, then the holder has lost at most one step of its lease
    step_clock(30 * DAY_MS)
    assert store.take("second", 1) == []
    store.load(lease)
    # When it goes back, by an hour and all the days, then the lease still ends in its time
    step_clock(-30 * DAY_MS - HOUR_MS)
    assert store.take("second", 1) == []
    for _ in range(2):
        step_clock(10_000)
        assert store.take("second", 1) == []
    step_clock(10_000)
    (takeover,) = store.take("second", 1)
    assert takeover.is_takeover
    store.close()
    with redis_server.client() as client:
        client.delete(*keys.ALL)
