# SPDX-License-Identifier: Apache-2.0
"""Leases on requests, in every back end of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.store.records import LeaseLost, SagaStep, make_lease_token
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import LEASE_MS, RETENTION_MS, StoreWithClock, request, take_lease


def test_leased_request_is_due_again_after_lease_expires(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    first = take_lease(bench)
    assert bench.store.take("other", 10) == []

    bench.pass_time(LEASE_MS)
    (second,) = bench.store.take("other", 10)

    assert second.token != first.token
    assert (first.is_takeover, second.is_takeover) == (False, True)


def test_lease_with_another_token_is_lost(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    with pytest.raises(LeaseLost):
        bench.store.load(lease._replace(token=make_lease_token("me")))
    bench.store.load(lease)


def test_holder_without_lease_changes_nothing(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    slow = take_lease(bench)
    (read_record,) = bench.store.load(slow).instances
    bench.pass_time(LEASE_MS)
    quick = take_lease(bench)

    with pytest.raises(LeaseLost):
        bench.store.write(slow, [replace(read_record, status=InstanceStatus.ACTIVE)])
    with pytest.raises(LeaseLost):
        bench.store.load(slow)
    assert bench.store.release(slow, None) is False
    assert bench.store.get(["a"])["a"] == read_record
    assert bench.store.release(quick, None) is True
    with pytest.raises(LeaseLost):
        bench.store.load(quick)


@pytest.mark.parametrize("verb", ["load", "write"])
def test_load_and_write_renew_the_lease(bench: StoreWithClock, verb: str) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.pass_time(LEASE_MS // 2)
    if verb == "load":
        bench.store.load(lease)
    else:
        bench.store.write(lease, [read_record])
    bench.pass_time(LEASE_MS // 2 + 1)
    assert bench.store.take("other", 10) == []


def test_expired_lease_is_valid_until_taken_over(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.pass_time(LEASE_MS)
    bench.store.write(lease, [replace(read_record, reason="late")])
    assert bench.store.take("other", 10) == []


def test_lease_of_purged_request_is_lost(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(read_record, status=InstanceStatus.DELETED, step=SagaStep.DONE)])
    bench.pass_time(RETENTION_MS)
    bench.store.purge()
    with pytest.raises(LeaseLost):
        bench.store.load(lease)


def test_longest_due_request_is_leased_first(bench: StoreWithClock) -> None:
    for name in ("r3", "r1", "r2"):
        bench.store.record(request(name), [f"{name}-a"])
        bench.pass_time(2)
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r3", "r1"]
    assert [lease.request for lease in bench.store.take("me", 2)] == ["r2"]
