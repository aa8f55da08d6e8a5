# SPDX-License-Identifier: Apache-2.0
"""Who holds a request, and until when, by every backend of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.store.records import InstanceStatus, LeaseLost, SagaStep
from tests.unit.conductor.store.conftest import LEASE_MS, RETENTION_MS, Bench, request, take_one


def test_what_is_taken_is_due_again_only_when_the_lease_is_over(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    first = take_one(bench)
    assert bench.store.take("other", 10) == []

    bench.pass_time(LEASE_MS)
    (second,) = bench.store.take("other", 10)

    assert second.token != first.token
    assert (first.is_takeover, second.is_takeover) == (False, True)


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
        bench.store.write(slow, [replace(seen, status=InstanceStatus.ACTIVE)])
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


def test_the_lease_of_a_forgotten_request_is_lost(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(seen, status=InstanceStatus.DELETED, step=SagaStep.DONE)])
    bench.pass_time(RETENTION_MS)
    bench.store.purge()
    with pytest.raises(LeaseLost):
        bench.store.load(lease)


def test_the_longest_due_is_taken_first(bench: Bench) -> None:
    for name in ("r3", "r1", "r2"):
        bench.store.record(request(name), [f"{name}-a"])
        bench.pass_time(2)
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r3", "r1"]
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r2"]
