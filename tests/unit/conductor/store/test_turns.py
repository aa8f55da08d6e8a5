# SPDX-License-Identifier: Apache-2.0
"""Turns of projects in the queue of due work, in every back end of the conductor's store."""

from collections import Counter
from dataclasses import replace

import pytest

from conductor.store import keys
from conductor.store.records import InstanceStatus, RequestLease, SagaStep, make_request_key
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from tests.unit.conductor.store.conftest import LEASE_MS, StoreWithClock, memory_bench, redis_bench, request


def record(bench: StoreWithClock, project: str, name: str, size: int = 1) -> str:
    """Record a request of ``size`` instances, later than all before; return its key."""
    key = make_request_key(project, name)
    bench.store.record(request(key, project=project), [f"{name}-{number}" for number in range(size)])
    bench.pass_time(2)
    return key


def serve(bench: StoreWithClock) -> RequestLease | None:
    """Take one request, and write each of its instances once."""
    for lease in bench.store.take("me", 1):
        bench.store.write(lease, bench.store.load(lease).instances)
        bench.store.release(lease, None)
        return lease
    return None


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


def test_due_requests_of_an_earlier_release_are_queued(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url()):
        names = [record(bench, "p", f"r{number}") for number in range(3)]
        with redis_server.client() as client:
            client.delete(*(keys.key(word) for word in ("queues", "wakes", "new_wakes", "turns", "new")))
        assert [lease.request for lease in bench.store.take("me", 10)] == names


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


def take(bench: StoreWithClock, max_building: int) -> list[str]:
    return [lease.request for lease in bench.store.take("me", 10, max_building=max_building)]


def build(bench: StoreWithClock, lease: RequestLease) -> None:
    """Send the builds of a taken request; it is due again a second later."""
    waiting = [
        replace(record, status=InstanceStatus.BUILDING, step=SagaStep.WAIT)
        for record in bench.store.load(lease).instances
    ]
    bench.store.write(lease, waiting)
    bench.store.release(lease, bench.now() + 1000)


def report(bench: StoreWithClock, uuids: list[str], status: InstanceStatus) -> None:
    """Write the end of builds, as a host reports it."""
    records = bench.store.get(uuids).values()
    bench.store.write_without_lease(
        [replace(record, status=status, step=SagaStep.DONE) for record in records], wake=True
    )


def test_new_request_waits_while_enough_is_scheduled_or_built(bench: StoreWithClock) -> None:
    first, second, third = [record(bench, "p", name, 2) for name in ("a", "b", "c")]
    (lease,) = bench.store.take("me", 1, max_building=2)
    assert lease.request == first
    assert take(bench, 2) == [], "the first is being scheduled"
    build(bench, lease)
    assert take(bench, 2) == [], "the first is being built"
    report(bench, ["a-0"], InstanceStatus.ACTIVE)
    assert take(bench, 2) == [first, second], "the rest of the first waits for no room"
    assert take(bench, 3) == []
    assert take(bench, 4) == [third]


@pytest.mark.parametrize("status", [InstanceStatus.ACTIVE, InstanceStatus.ERROR, InstanceStatus.DELETED])
def test_instances_count_until_they_have_ended(bench: StoreWithClock, status: InstanceStatus) -> None:
    _, second = [record(bench, "p", name, 2) for name in ("a", "b")]
    (lease,) = bench.store.take("me", 1)
    build(bench, lease)
    assert take(bench, 1) == []
    report(bench, ["a-0", "a-1"], status)
    assert second in take(bench, 1)


def test_project_below_its_share_begins_although_another_has_all(bench: StoreWithClock) -> None:
    for name in ("a", "b", "c"):
        record(bench, "flood", name, 2)
    for lease in bench.store.take("me", 2):
        build(bench, lease)
    singles = [record(bench, "other", name) for name in ("d", "e", "f")]
    for lease in bench.store.take("me", 1, max_building=4):
        assert lease.request == singles[0]
        build(bench, lease)
    assert take(bench, 4) == [singles[1]], "its share is 2"


def test_deletion_of_a_new_instance_does_not_wait_for_its_turn(bench: StoreWithClock) -> None:
    _, second, third = [record(bench, "p", name, 2) for name in ("a", "b", "c")]
    assert len(bench.store.take("me", 1)) == 1
    records = list(bench.store.get(["b-0"]).values())
    bench.store.write_without_lease(
        [replace(record, status=InstanceStatus.DELETING, step=SagaStep.ABORT) for record in records], wake=True
    )
    assert take(bench, 2) == [second]
    assert take(bench, 3) == []
    assert take(bench, 4) == [third], "three instances are scheduled: two of the first and one of the second"


def test_request_of_a_dead_conductor_is_taken_again_although_enough_is_built(bench: StoreWithClock) -> None:
    first, _ = [record(bench, "p", name, 2) for name in ("a", "b")]
    assert take(bench, 1) == [first]
    bench.pass_time(LEASE_MS)
    assert take(bench, 1) == [first]


def test_counts_of_what_is_new_end_with_it(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url()):
        for number in range(6):
            record(bench, f"p{number % 2}", f"r{number}", 2)
        with redis_server.client() as client:
            assert client.hget(keys.key("new"), "all") == "12"
            for lease in bench.store.take("me", 10):
                build(bench, lease)
            assert client.hgetall(keys.key("new")) == {}
            assert sorted(client.hvals(keys.key("building"))) == ["6", "6"]
            report(bench, [f"r{number}-{index}" for number in range(6) for index in range(2)], InstanceStatus.ACTIVE)
            assert client.hgetall(keys.key("building")) == {}


def test_what_has_begun_is_served_beside_new_requests_of_a_thousand_projects(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url()):
        begun = record(bench, "begun", "b")
        (lease,) = bench.store.take("me", 1)
        for number in range(1001):
            record(bench, f"p{number}", f"r{number}")
        build(bench, lease)
        bench.pass_time(1000)
        assert take(bench, 0) == [begun]
