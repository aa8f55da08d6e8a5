# SPDX-License-Identifier: Apache-2.0
"""Requests of projects, and what conductors and hosts do with them, on any back end of the conductor's store."""

from collections.abc import Sequence
from dataclasses import replace

from conductor.store.records import RequestLease, SagaStep, make_request_key
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import StoreWithClock, request


def record(bench: StoreWithClock, project: str, name: str, size: int = 1) -> str:
    """Record a request of ``size`` instances, later than all before; return its key."""
    key = make_request_key(project, name)
    bench.store.record(request(key, project=project), [f"{name}-{number}" for number in range(size)])
    bench.pass_time(2)
    return key


def take(bench: StoreWithClock, max_building: int) -> list[str]:
    """Take up to ten requests under the bound; return their keys."""
    return [lease.request for lease in bench.store.take("me", 10, max_building=max_building)]


def take_one(bench: StoreWithClock, max_building: int = 1 << 40) -> RequestLease:
    """Take the only request that may be taken under the bound."""
    (lease,) = bench.store.take("me", 10, max_building=max_building)
    return lease


def serve(bench: StoreWithClock) -> RequestLease | None:
    """Take one request, and write each of its instances once."""
    for lease in bench.store.take("me", 1):
        bench.store.write(lease, bench.store.load(lease).instances)
        bench.store.release(lease, None)
        return lease
    return None


def build(bench: StoreWithClock, lease: RequestLease, wait_ms: int = 3_600_000) -> None:
    """Send the builds of a taken request, and release it until that time later."""
    waiting = [
        replace(record, status=InstanceStatus.BUILDING, step=SagaStep.WAIT)
        for record in bench.store.load(lease).instances
    ]
    bench.store.write(lease, waiting)
    bench.store.release(lease, bench.now() + wait_ms)


def report(bench: StoreWithClock, uuids: Sequence[str], status: InstanceStatus) -> None:
    """Write the end of builds, as a host reports it."""
    _write(bench, uuids, status, SagaStep.DONE)


def delete(bench: StoreWithClock, *uuids: str) -> None:
    """Mark instances for deletion."""
    _write(bench, uuids, InstanceStatus.DELETING, SagaStep.ABORT)


def finish(bench: StoreWithClock, lease: RequestLease) -> list[str]:
    """Delete what is due under the lease, and release it; return the deleted uuids."""
    work = bench.store.load(lease)
    deleted = [replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE) for record in work.instances]
    bench.store.write(lease, deleted)
    bench.store.release(lease, bench.store.load(lease).next_ms)
    return [record.uuid for record in deleted]


def _write(bench: StoreWithClock, uuids: Sequence[str], status: InstanceStatus, step: SagaStep) -> None:
    records = bench.store.get(uuids).values()
    bench.store.write_without_lease([replace(record, status=status, step=step) for record in records], wake=True)
