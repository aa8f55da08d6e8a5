# SPDX-License-Identifier: Apache-2.0
"""When a request is due, and what wakes it, by every backend of the conductor's store."""

from dataclasses import replace

from conductor.store.records import InstanceStatus, SagaStep
from tests.unit.conductor.store.conftest import LEASE_MS, Bench, request, take_one


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
            replace(rows["c"], step=SagaStep.DONE),
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
    assert take_one(bench).is_takeover is False


def test_a_request_without_steps_is_due_no_more(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_one(bench), None)
    bench.pass_time(LEASE_MS)
    assert bench.store.take("me", 10) == []


def test_a_fact_wakes_a_request_that_sleeps(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    bench.store.release(take_one(bench), bench.now() + 3_600_000)
    seen = bench.store.get(["a"])["a"]
    bench.store.write_without_lease([replace(seen, reason="quiet")], wake=False)
    assert bench.store.take("me", 10) == []

    bench.store.write_without_lease([replace(seen, version=2, step=SagaStep.ALTERNATE)], wake=True)

    assert take_one(bench).request == "req"


def test_a_fact_wakes_a_request_that_had_nothing_to_do(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(seen, status=InstanceStatus.ACTIVE, step=SagaStep.DONE)])
    bench.store.release(lease, None)

    bench.store.write_without_lease([replace(seen, version=2, status=InstanceStatus.DELETING, step=SagaStep.TERMINATE)], wake=True)

    assert [each.step for each in bench.store.load(take_one(bench)).instances] == ["terminate"]


def test_a_fact_while_the_request_is_held_is_not_overlooked(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    bench.store.write_without_lease([replace(bench.store.get(["a"])["a"], step=SagaStep.ABORT)], wake=True)
    assert bench.store.take("other", 10) == []

    bench.store.release(lease, None)

    assert len(bench.store.take("other", 10)) == 1


def test_taking_answers_an_earlier_wake(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    take_one(bench)
    bench.store.write_without_lease([bench.store.get(["a"])["a"]], wake=True)
    bench.pass_time(LEASE_MS)
    bench.store.release(take_one(bench), None)
    assert bench.store.take("me", 10) == []
