# SPDX-License-Identifier: Apache-2.0
"""What every backend of the conductor's store must do."""

from dataclasses import replace

import pytest

from conductor.store.interface import PAGE
from conductor.store.records import Lease, LeaseLost, Status, Step
from rpcapi import errors
from tests.unit.conductor.store.conftest import LEASE_MS, RETENTION_MS, Bench, request


def take_one(bench: Bench) -> Lease:
    (lease,) = bench.store.take("me", 10)
    return lease


def test_a_request_is_recorded_once_and_is_due(bench: Bench) -> None:
    assert bench.store.record(request(), ["b", "a"]) is True
    assert bench.store.record(request(), ["b", "a"]) is False

    lease = take_one(bench)
    work = bench.store.load(lease)

    assert work.request == request()
    assert {each.uuid for each in work.instances} == {"a", "b"}
    assert all((each.status, each.step, each.version) == ("SCHEDULING", "select", 1) for each in work.instances)
    assert work.next_ms is None
    assert bench.store.requests(["req", "none"]) == {"req": request()}
    assert bench.store.counts() == {"SCHEDULING": 2}


def test_a_uuid_of_another_request_conflicts_and_nothing_is_recorded(bench: Bench) -> None:
    bench.store.record(request("first"), ["a"])
    with pytest.raises(errors.InstanceConflict):
        bench.store.record(request("second"), ["new", "a"])
    assert bench.store.get(["new", "a"]).keys() == {"a"}
    assert bench.store.requests(["second"]) == {}
    assert [lease.request for lease in bench.store.take("me", 10)] == ["first"]


def test_what_is_taken_is_due_again_only_when_the_lease_is_over(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    first = take_one(bench)
    assert bench.store.take("other", 10) == []

    bench.pass_time(LEASE_MS)
    (second,) = bench.store.take("other", 10)

    assert second.token != first.token
    assert (first.taken_over, second.taken_over) == (False, True)


def test_the_same_number_counted_again_is_not_the_same_lease(bench: Bench) -> None:
    """Given a store that lost its last second, when another holds the lease of that number, then ours is lost."""
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    with pytest.raises(LeaseLost):
        bench.store.load(lease._replace(token=lease.token.replace("me", "another")))
    bench.store.load(lease)


def test_a_holder_that_lost_its_lease_changes_nothing(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    slow = take_one(bench)
    (seen,) = bench.store.load(slow).instances
    bench.pass_time(LEASE_MS)
    quick = take_one(bench)

    with pytest.raises(LeaseLost):
        bench.store.write(slow, [replace(seen, status=Status.ACTIVE)])
    with pytest.raises(LeaseLost):
        bench.store.load(slow)
    assert bench.store.release(slow, None) is False
    assert bench.store.get(["a"])["a"] == seen
    assert bench.store.release(quick, None) is True
    with pytest.raises(LeaseLost):
        bench.store.load(quick)


@pytest.mark.parametrize("verb", ["load", "write"])
def test_reading_and_writing_renew_the_lease(bench: Bench, verb: str) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.pass_time(LEASE_MS // 2)
    if verb == "load":
        bench.store.load(lease)
    else:
        bench.store.write(lease, [seen])
    bench.pass_time(LEASE_MS // 2 + 1)
    assert bench.store.take("other", 10) == []


def test_a_lease_that_is_over_still_counts_until_another_takes_it(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.pass_time(LEASE_MS)
    bench.store.write(lease, [replace(seen, reason="late")])
    assert bench.store.take("other", 10) == []


def test_a_write_keeps_every_field_and_the_store_sets_its_own(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.pass_time(5)
    given = replace(
        seen,
        status=Status.BUILDING,
        step=Step.WAIT,
        wake_ms=seen.created_ms + 10_000,
        attempt=2,
        host="h/n",
        alternates=["x/y"],
        partition="cell",
        epoch=7,
        position=9,
        history=[{"attempt": 1, "host": "g", "outcome": "failed", "reason": "a 'quoted' \u00fc \n line"}],
        reason="because",
        asked=True,
        tries=3,
        since_ms=seen.created_ms + 2,
        sequence=99,
        created_ms=1,
    )
    written = bench.store.write(lease, [given])
    assert written.stale == frozenset()
    kept = bench.store.get(["a"])["a"]
    assert kept == replace(
        given, version=2, sequence=seen.sequence, created_ms=seen.created_ms, updated_ms=written.now_ms
    )
    assert kept.has_ended(1)
    assert not kept.has_ended(2)
    assert kept.updated_ms > kept.created_ms


def test_a_write_leaves_alone_what_has_changed_meanwhile(bench: Bench) -> None:
    bench.store.record(request(), ["a", "b"])
    lease = take_one(bench)
    seen = bench.store.load(lease).instances
    told = next(each for each in seen if each.uuid == "a")
    bench.store.note([replace(told, status=Status.DELETING, step=Step.ABORT)], wake=True)

    written = bench.store.write(lease, [replace(each, status=Status.BUILDING) for each in seen])

    assert written.stale == {"a"}
    assert {uuid: each.status for uuid, each in bench.store.get(["a", "b"]).items()} == {
        "a": "DELETING",
        "b": "BUILDING",
    }
    assert {status: count for status, count in bench.store.counts().items() if count} == {
        "DELETING": 1,
        "BUILDING": 1,
    }


def test_a_write_of_an_unknown_instance_is_stale(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    seen = bench.store.get(["a"])["a"]
    assert bench.store.note([replace(seen, uuid="none")], wake=True).stale == {"none"}
    assert bench.store.get(["none"]) == {}


def test_only_what_is_due_is_loaded_and_the_next_wake_is_told(bench: Bench) -> None:
    bench.store.record(request(), ["a", "b", "c", "d"])
    lease = take_one(bench)
    rows = {each.uuid: each for each in bench.store.load(lease).instances}
    now = bench.now()
    bench.store.write(
        lease,
        [
            replace(rows["a"], wake_ms=now + 50_000),
            replace(rows["b"], wake_ms=now + 40_000),
            replace(rows["c"], step=Step.DONE),
        ],
    )
    work = bench.store.load(lease)
    assert [each.uuid for each in work.instances] == ["d"]
    assert work.next_ms == now + 40_000


def test_a_released_request_is_due_when_its_next_step_is(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    bench.store.release(lease, bench.now() + 60)
    assert bench.store.take("me", 10) == []
    bench.pass_time(61)
    assert take_one(bench).taken_over is False


def test_a_request_without_steps_is_due_no_more(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_one(bench), None)
    bench.pass_time(LEASE_MS)
    assert bench.store.take("me", 10) == []


def test_a_fact_wakes_a_request_that_sleeps(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_one(bench), bench.now() + 3_600_000)
    seen = bench.store.get(["a"])["a"]
    bench.store.note([replace(seen, reason="quiet")], wake=False)
    assert bench.store.take("me", 10) == []

    bench.store.note([replace(seen, version=2, step=Step.ALTERNATE)], wake=True)

    assert take_one(bench).request == "req"


def test_a_fact_wakes_a_request_that_had_nothing_to_do(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(seen, status=Status.ACTIVE, step=Step.DONE)])
    bench.store.release(lease, None)

    bench.store.note([replace(seen, version=2, status=Status.DELETING, step=Step.TERMINATE)], wake=True)

    assert [each.step for each in bench.store.load(take_one(bench)).instances] == ["terminate"]


def test_a_fact_while_the_request_is_held_is_not_overlooked(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    bench.store.note([replace(bench.store.get(["a"])["a"], step=Step.ABORT)], wake=True)
    assert bench.store.take("other", 10) == []

    bench.store.release(lease, None)

    assert len(bench.store.take("other", 10)) == 1


def test_taking_answers_an_earlier_wake(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    take_one(bench)
    bench.store.note([bench.store.get(["a"])["a"]], wake=True)
    bench.pass_time(LEASE_MS)
    bench.store.release(take_one(bench), None)
    assert bench.store.take("me", 10) == []


def test_a_deleted_record_is_kept_for_its_retention_then_forgotten(bench: Bench) -> None:
    bench.store.record(request(), ["a", "b"])
    lease = take_one(bench)
    rows = bench.store.load(lease).instances
    bench.store.write(lease, [replace(each, status=Status.DELETED, step=Step.DONE) for each in rows])
    bench.store.release(lease, None)
    assert bench.store.purge() == 0
    assert bench.store.record(request(), ["a", "b"]) is False
    assert bench.store.page(None, 10, deleted=False).instances == []
    assert [each.uuid for each in bench.store.page(None, 10, deleted=True).instances] == ["a", "b"]

    bench.pass_time(RETENTION_MS)

    assert bench.store.purge(1) == 1
    assert bench.store.requests(["req"]) != {}
    assert bench.store.purge() == 1
    assert bench.store.requests(["req"]) == {}
    assert bench.store.get(["a", "b"]) == {}
    assert bench.store.page(None, 10, deleted=True).instances == []
    assert sum(bench.store.counts().values()) == 0
    assert bench.store.record(request(), ["a", "b"]) is True


def test_the_lease_of_a_forgotten_request_is_lost(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(seen, status=Status.DELETED, step=Step.DONE)])
    bench.pass_time(RETENTION_MS)
    bench.store.purge()
    with pytest.raises(LeaseLost):
        bench.store.load(lease)


def test_pages_are_oldest_first_and_follow_each_other(bench: Bench) -> None:
    for number in range(5):
        bench.store.record(request(f"r{number}"), [f"z{5 - number}", f"a{number}"])
    seen, marker = [], None
    while True:
        page = bench.store.page(marker, 3, deleted=False)
        assert len(page.instances) <= 3
        seen += [each.uuid for each in page.instances]
        if (marker := page.marker) is None:
            break
    assert seen == [uuid for number in range(5) for uuid in (f"z{5 - number}", f"a{number}")]
    with pytest.raises(errors.InvalidRequest):
        bench.store.page("a0", 3, deleted=False)


def test_a_large_request_is_loaded_and_written_whole(bench: Bench) -> None:
    uuids = [f"u{number:05}" for number in range(2 * PAGE + 7)]
    bench.store.record(request(), uuids)
    lease = take_one(bench)
    work = bench.store.load(lease)
    assert [each.uuid for each in work.instances] == uuids
    bench.store.write(lease, [replace(each, step=Step.WAIT, status=Status.BUILDING) for each in work.instances])
    assert bench.store.counts()["BUILDING"] == len(uuids)
    assert len(bench.store.get(uuids)) == len(uuids)


def test_the_longest_due_is_taken_first(bench: Bench) -> None:
    for name in ("r3", "r1", "r2"):
        bench.store.record(request(name), [f"{name}-a"])
        bench.pass_time(2)
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r3", "r1"]
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r2"]
