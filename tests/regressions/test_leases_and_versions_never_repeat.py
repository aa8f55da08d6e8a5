# SPDX-License-Identifier: Apache-2.0
"""A store that forgot writes once gave the same lease token and record version again: a stale thread's write passed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from conductor.store.records import LeaseLost, SagaStep
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.notifications.changes import LEASE_KEY, LEASE_NAMESPACE
from scheduler_svc.store.lease import DocumentLease
from tests.support.conductor.bench import StoreWithClock, memory_bench, redis_bench, request, take_lease
from tests.support.store.backends import memory_partition, redis_partition

LEASE_SECONDS = 10.0


@pytest.fixture(params=["memory", "redis"])
def bench(request: pytest.FixtureRequest) -> Iterator[StoreWithClock]:
    if request.param == "memory":
        yield memory_bench()
        return
    server = request.getfixturevalue("redis_server")
    yield from redis_bench(server, server.url())


@pytest.fixture(params=["memory", "redis"])
def partition(request: pytest.FixtureRequest):
    if request.param == "memory":
        backend = memory_partition(namespaces=[LEASE_NAMESPACE])
    else:
        backend = redis_partition(request.getfixturevalue("redis_server"), namespaces=[LEASE_NAMESPACE])
    yield backend
    backend.store.close()


def test_lease_of_forgotten_take_is_lost(bench: StoreWithClock) -> None:
    # Given a lease that the store forgot, and another thread of the same conductor that took the request since
    bench.store.record(request(), ["a"])
    mark = bench.mark()
    stale_lease = take_lease(bench)
    (stale_record,) = bench.store.load(stale_lease).instances
    bench.forget_since(mark)
    current_lease = take_lease(bench)
    # When the first thread goes on, then it has lost its lease
    with pytest.raises(LeaseLost):
        bench.store.load(stale_lease)
    with pytest.raises(LeaseLost):
        bench.store.write(stale_lease, [stale_record])
    assert bench.store.release(stale_lease, None) is False
    bench.store.load(current_lease)


@pytest.mark.parametrize("records_request_again", [False, True])
def test_write_of_forgotten_version_is_refused(bench: StoreWithClock, *, records_request_again: bool) -> None:
    # Given a record as a thread read it after a write that the store forgot, or with a request that it forgot
    if not records_request_again:
        bench.store.record(request(), ["a"])
    mark = bench.mark()
    bench.store.record(request(), ["a"])
    stale_record = write_step(bench, SagaStep.CAST, host="first")
    bench.forget_since(mark)
    # And the same number of writes since, with another content
    bench.store.record(request(), ["a"])
    current_record = write_step(bench, SagaStep.CAST, host="second")
    # When the first thread writes what it decided on the forgotten record
    late = replace(stale_record, step=SagaStep.WAIT, status=InstanceStatus.BUILDING)
    result = bench.store.write_without_lease([late], wake=False)
    # Then it is refused, and the record unchanged
    assert result.stale == {"a"}
    assert bench.store.get(["a"])["a"] == current_record


def test_first_version_of_a_record_does_not_repeat(bench: StoreWithClock) -> None:
    mark = bench.mark()
    bench.store.record(request(), ["a"])
    stale_record = bench.store.get(["a"])["a"]
    bench.forget_since(mark)
    bench.store.record(request(), ["a"])
    assert bench.store.write_without_lease([stale_record], wake=False).stale == {"a"}


def test_publisher_whose_lease_was_forgotten_cannot_renew_it(partition) -> None:
    # Given a publisher whose lease the store forgot, and another one that has it since, after as many writes
    stale_lease, current_lease = (
        DocumentLease(partition.store, LEASE_KEY, name, LEASE_SECONDS) for name in ("first", "second")
    )
    mark = partition.mark()
    position = stale_lease.acquire(lambda: {"epoch": 1, "position": 1})
    assert position is not None
    partition.forget_since(mark)
    assert current_lease.acquire(lambda: {"epoch": 1, "position": 1}) is not None
    # When the first one renews, then it has lost the lease
    assert stale_lease.renew(position) is False
    assert current_lease.renew(position) is True


def write_step(bench: StoreWithClock, step: SagaStep, host: str):
    """Write the only instance with this step and host, and return its record."""
    record = bench.store.get(["a"])["a"]
    changed = replace(record, step=step, status=InstanceStatus.BUILDING, host=host)
    assert not bench.store.write_without_lease([changed], wake=False).stale
    return bench.store.get(["a"])["a"]
