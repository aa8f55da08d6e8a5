# SPDX-License-Identifier: Apache-2.0
"""Due times and wakes of requests, in every back end of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.store.records import LeaseLost, SagaStep
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import LEASE_MS, RETENTION_MS, StoreWithClock, request, take_lease


def test_load_returns_due_instances_and_next_wake_time(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a", "b", "c", "d"])
    lease = take_lease(bench)
    rows = {record.uuid: record for record in bench.store.load(lease).instances}
    now = bench.now()
    bench.store.write(
        lease,
        [
            replace(rows["a"], wake_ms=now + 50_000),
            replace(rows["b"], wake_ms=now + 40_000),
            replace(rows["c"], step=SagaStep.DONE),
        ],
    )
    work = bench.store.load(lease)
    assert [record.uuid for record in work.instances] == ["d"]
    assert work.next_ms == now + 40_000


def test_released_request_is_due_at_its_next_step(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    bench.store.release(lease, bench.now() + 60)
    assert bench.store.take("me", 10) == []
    bench.pass_time(61)
    assert take_lease(bench).is_takeover is False


def test_request_without_steps_is_not_due(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_lease(bench), None)
    bench.pass_time(LEASE_MS)
    assert bench.store.take("me", 10) == []


def test_write_without_lease_wakes_sleeping_request(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_lease(bench), bench.now() + 3_600_000)
    read_record = bench.store.get(["a"])["a"]
    bench.store.write_without_lease([replace(read_record, reason="quiet")], wake=False)
    assert bench.store.take("me", 10) == []

    read_record = bench.store.get(["a"])["a"]
    bench.store.write_without_lease([replace(read_record, step=SagaStep.ALTERNATE)], wake=True)

    assert take_lease(bench).request == "req"


def test_write_without_lease_wakes_finished_request(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(read_record, status=InstanceStatus.ACTIVE, step=SagaStep.DONE)])
    bench.store.release(lease, None)

    read_record = bench.store.get(["a"])["a"]
    bench.store.write_without_lease(
        [replace(read_record, status=InstanceStatus.DELETING, step=SagaStep.TERMINATE)], wake=True
    )

    assert [record.step for record in bench.store.load(take_lease(bench)).instances] == ["terminate"]


def test_wake_of_leased_request_applies_at_release(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    bench.store.write_without_lease([replace(bench.store.get(["a"])["a"], step=SagaStep.ABORT)], wake=True)
    assert bench.store.take("other", 10) == []

    bench.store.release(lease, None)

    assert len(bench.store.take("other", 10)) == 1


def test_taking_a_lease_clears_earlier_wake(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    take_lease(bench)
    bench.store.write_without_lease([bench.store.get(["a"])["a"]], wake=True)
    bench.pass_time(LEASE_MS)
    bench.store.release(take_lease(bench), None)
    assert bench.store.take("me", 10) == []


def test_request_that_is_due_in_the_far_future_can_be_woken(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_lease(bench), 12_345_678_901_234)
    assert bench.store.take("me", 10) == []
    bench.store.write_without_lease(list(bench.store.get(["a"]).values()), wake=True)
    assert take_lease(bench).request == "req"


def test_purged_request_is_never_due_again(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(read_record, status=InstanceStatus.DELETED, step=SagaStep.DONE)])
    bench.pass_time(RETENTION_MS)
    bench.store.purge()
    with pytest.raises(LeaseLost):
        bench.store.load(lease)
    bench.pass_time(LEASE_MS)
    assert bench.store.take("me", 10) == []
