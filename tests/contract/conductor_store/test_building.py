# SPDX-License-Identifier: Apache-2.0
"""The bound of what is scheduled or built, in every back end of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.store import keys
from conductor.store.records import make_request_key
from devstack.servers.redis import RedisServer
from rpcapi.resources.statuses import InstanceStatus
from tests.contract.conductor_store.project_requests import build, delete, finish, record, report, take, take_one
from tests.support.conductor.bench import LEASE_MS, StoreWithClock, redis_bench, request

LONG_MS = 3_600_000


@pytest.fixture
def lease_ms() -> int:
    """No lease ends during a test, however slow the machine is."""
    return LONG_MS


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


def test_deletion_in_a_new_request_runs_alone(bench: StoreWithClock) -> None:
    first, second, third = [record(bench, "p", name, 3) for name in ("a", "b", "c")]
    assert take(bench, 3) == [first]
    delete(bench, "b-0", "b-1")
    lease = take_one(bench, 3)
    assert (lease.request, lease.steps, lease.is_takeover) == (second, 2, False)
    assert finish(bench, lease) == ["b-0", "b-1"]
    assert take(bench, 3) == [], "the rest of the second is new"
    lease, last = bench.store.take("me", 10, max_building=5)
    assert ((lease.request, lease.steps), last.request) == ((second, 1), third), "it has kept its place"
    assert [record.uuid for record in bench.store.load(lease).instances] == ["b-2"]


def test_deletion_that_is_repeated_later_does_not_delay_the_rest(bench: StoreWithClock) -> None:
    first, _ = [record(bench, "p", name, 2) for name in ("a", "b")]
    assert take(bench, 2) == [first]
    delete(bench, "b-0")
    lease = take_one(bench, 2)
    (deleting,) = bench.store.load(lease).instances
    wake_ms = bench.now() + LONG_MS
    bench.store.write(lease, [replace(deleting, wake_ms=wake_ms)])
    work = bench.store.load(lease)
    assert (list(work.instances), work.next_ms) == ([], wake_ms)
    bench.store.release(lease, wake_ms)
    assert take(bench, 2) == []
    assert [record.uuid for record in bench.store.load(take_one(bench, 3)).instances] == ["b-1"]


def test_rest_begins_under_the_lease_of_its_deletion(bench: StoreWithClock) -> None:
    first, second, third = [record(bench, "p", name, 2) for name in ("a", "b", "c")]
    assert take(bench, 2) == [first]
    delete(bench, "b-0")
    deletion = take_one(bench, 2)
    assert take(bench, 4) == [third], "the second is leased already"
    assert finish(bench, deletion) == ["b-0", "b-1"]
    lease = take_one(bench, 4)
    assert (lease.request, lease.steps) == (second, 0), "it was woken"


@pytest.mark.parametrize("lease_ms", [LEASE_MS])
def test_rest_stays_new_when_the_conductor_of_its_deletion_dies(bench: StoreWithClock) -> None:
    _, second = [record(bench, "p", name, 2) for name in ("a", "b")]
    build(bench, take_one(bench, 2))
    delete(bench, "b-0")
    assert take(bench, 2) == [second]
    bench.pass_time(LEASE_MS)
    lease = take_one(bench, 2)
    assert (lease.request, lease.is_takeover) == (second, True)
    assert finish(bench, lease) == ["b-0"]


def test_request_whose_new_instances_are_all_deleted_is_not_new(bench: StoreWithClock) -> None:
    for name in ("a", "b"):
        record(bench, "p", name, 2)
    assert len(take(bench, 2)) == 1
    delete(bench, "b-0", "b-1")
    assert finish(bench, take_one(bench, 2)) == ["b-0", "b-1"]
    assert take(bench, 1 << 40) == []


@pytest.mark.parametrize("lease_ms", [LEASE_MS])
def test_request_of_a_dead_conductor_is_taken_again_although_enough_is_built(bench: StoreWithClock) -> None:
    first, _ = [record(bench, "p", name, 2) for name in ("a", "b")]
    assert take(bench, 1) == [first]
    bench.pass_time(LEASE_MS)
    assert take(bench, 1) == [first]


def test_many_projects_that_are_only_scheduled_keep_to_the_bound(bench: StoreWithClock) -> None:
    flood = record(bench, "flood", "f", 4)
    assert take(bench, 4) == [flood]
    singles = [[record(bench, project, f"{project}{number}") for number in range(3)] for project in ("p", "q", "r")]
    assert take(bench, 4) == [first for first, *_ in singles], "each has the share of four: one"


def counts(redis_server: RedisServer, word: str) -> dict[str, int]:
    with redis_server.client() as client:
        return {field: int(count) for field, count in client.hgetall(keys.key(word)).items()}


def test_counts_follow_what_has_begun_and_end_with_it(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url(), LONG_MS):
        for number in range(6):
            record(bench, f"p{number % 2}", f"r{number}", 2)
        assert counts(redis_server, "begun") == {}
        leases = bench.store.take("me", 4)
        assert sorted(counts(redis_server, "begun").values()) == [4, 4, 8]
        for lease in leases:
            build(bench, lease)
        assert sorted(counts(redis_server, "begun").values()) == [4, 4, 8]
        delete(bench, "r4-0", "r5-0", "r5-1")
        for lease in bench.store.take("me", 10, max_building=0):
            finish(bench, lease)
        assert sorted(counts(redis_server, "begun").values()) == [4, 4, 8]
        for lease in bench.store.take("me", 10):
            build(bench, lease)
        assert sorted(counts(redis_server, "begun").values()) == [4, 5, 9]
        report(bench, [f"r{number}-{index}" for number in range(4) for index in range(2)], InstanceStatus.ACTIVE)
        report(bench, ["r4-1"], InstanceStatus.ERROR)
        with redis_server.client() as client:
            assert client.exists(*(keys.key(word) for word in ("begun", "new", "new_wakes", "shares"))) == 0


def test_what_has_begun_is_served_beside_new_requests_of_a_thousand_projects(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url()):
        begun = record(bench, "begun", "b")
        (lease,) = bench.store.take("me", 1)
        for number in range(1001):
            record(bench, f"p{number}", f"r{number}")
        build(bench, lease, wait_ms=1000)
        bench.pass_time(1000)
        assert take(bench, 0) == [begun]


def hold_back(bench: StoreWithClock, projects: int) -> None:
    """Let as many projects begin with one instance each, and record another request of each."""
    for name in ("a", "b"):
        for number in range(projects):
            key = make_request_key(f"held{number}", name)
            bench.store.record(request(key, project=f"held{number}"), [f"{name}{number}"])
        if name == "a":
            begun = 0
            while begun < projects:
                begun += len(bench.store.take("me", projects))
            bench.pass_time(2)


def test_project_that_may_begin_is_not_hidden_by_a_thousand_that_may_not(redis_server: RedisServer) -> None:
    for bench in redis_bench(redis_server, redis_server.url(), LONG_MS):
        hold_back(bench, 1010)
        other = record(bench, "other", "o")
        assert take(bench, 1000) == [other]
        assert take(bench, 1000) == []


def count_commands(redis_server: RedisServer, bench: StoreWithClock) -> int:
    """Take ten requests; return the number of commands that the server ran meanwhile."""
    with redis_server.client() as client:
        client.config_resetstat()
        assert len(take(bench, 1000)) == 10
        return sum(row["calls"] for row in client.info("commandstats").values())


def test_projects_that_are_held_back_cost_a_call_nothing(redis_server: RedisServer) -> None:
    calls = []
    for projects in (1000, 2000):
        for bench in redis_bench(redis_server, redis_server.url(), LONG_MS):
            hold_back(bench, projects)
            for number in range(10):
                record(bench, f"other{number}", f"o{number}")
            calls.append(count_commands(redis_server, bench))
    assert calls[0] == calls[1] < 600
