# SPDX-License-Identifier: Apache-2.0
"""Turns of projects in the queue of due work, in every back end of the conductor's store."""

from collections import Counter

import pytest

from conductor.store.records import make_request_key
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from tests.contract.conductor_store.project_requests import record, serve
from tests.support.conductor.bench import LEASE_MS, StoreWithClock, memory_bench, redis_bench


def test_single_request_of_a_project_does_not_wait_for_the_backlog_of_another(bench: StoreWithClock) -> None:
    first, *_ = [record(bench, "many", f"m{number}") for number in range(20)]
    single = record(bench, "single", "s")
    assert [lease.request for lease in bench.store.take("me", 2)] == [first, single]


def test_projects_with_a_backlog_get_equal_numbers_of_instances(bench: StoreWithClock) -> None:
    for number in range(4):
        record(bench, "large", f"l{number}", 12)
    for number in range(36):
        record(bench, "small", f"s{number}")
    large = make_request_key("large", "")
    sizes: Counter[str] = Counter()
    while sizes["small"] < 30:
        lease = serve(bench)
        assert lease
        sizes["large" if lease.request.startswith(large) else "small"] += lease.steps
    assert sizes["large"] in (24, 36)


def test_project_that_was_idle_gets_no_more_than_its_share(bench: StoreWithClock) -> None:
    for number in range(12):
        record(bench, "busy", f"b{number}")
    for _ in range(6):
        serve(bench)
    for number in range(6):
        record(bench, "idle", f"i{number}")
    served = [lease.request for lease in bench.store.take("me", 6)]
    busy = make_request_key("busy", "")
    assert 2 <= sum(key.startswith(busy) for key in served) <= 4


def test_requests_of_one_project_are_served_in_the_order_of_their_time(bench: StoreWithClock) -> None:
    recorded = [record(bench, "p", name) for name in ("c", "a", "b")]
    assert [lease.request for lease in bench.store.take("me", 10)] == recorded


@pytest.mark.parametrize(("limit", "sizes"), [(3, [3]), (4, [3]), (5, [3, 2]), (100, [3, 2, 4])])
def test_leased_requests_have_no_more_instances_than_the_limit(
    bench: StoreWithClock, limit: int, sizes: list[int]
) -> None:
    for number, size in enumerate((3, 2, 4)):
        record(bench, "p", f"r{number}", size)
    assert [lease.steps for lease in bench.store.take("me", 10, limit)] == sizes


def test_request_beyond_the_limit_is_leased_once_there_is_room(bench: StoreWithClock) -> None:
    record(bench, "p", "r", 3)
    assert bench.store.take("me", 10, 2) == []
    assert [lease.steps for lease in bench.store.take("me", 10, 3)] == [3]


def test_woken_and_postponed_requests_keep_their_project(bench: StoreWithClock) -> None:
    key, other = record(bench, "p", "a"), record(bench, "q", "b")
    (lease, _) = bench.store.take("me", 2)
    bench.store.release(lease, bench.now() + LEASE_MS // 2)
    assert bench.store.take("me", 2) == []
    bench.store.write_without_lease(list(bench.store.get(["a-0"]).values()), wake=True)
    (woken,) = bench.store.take("me", 2)
    assert woken.request == key
    bench.pass_time(LEASE_MS)
    assert {again.request for again in bench.store.take("me", 2)} == {key, other}


def test_memory_and_redis_serve_in_the_same_order(redis_server: RedisServer) -> None:
    orders = []
    for bench in (memory_bench(), *redis_bench(redis_server, redis_server.url())):
        for number in range(40):
            record(bench, f"p{number % 7 % 4}", f"r{number}", 1 + number % 3)
        served = []
        while lease := serve(bench):
            served.append(lease.request)
        orders.append(served)
        assert isinstance(bench.store, RedisConductorStore) == (len(orders) == 2)
    assert orders[0] == orders[1]
    assert len(orders[0]) == 40
