# SPDX-License-Identifier: Apache-2.0
"""A store at its bound refuses new work until some has ended and was removed; nothing had a bound but decisions.

Claims, tombstones, pins and the records of conductors grew until the server had no memory, when every write failed,
those that end something too.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.deletion import InstanceDeletion
from conductor.requests import BuildRequests
from conductor.store.bounds import OPTIONS as RECORD_OPTIONS
from conductor.store.bounds import RecordBounds
from conductor.store.interface import ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import InstanceStatus, SagaStep, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from rpcapi import context, errors, objects
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.replication.reaper import Reaper, ReapLimits
from scheduler_svc.replication.size_measurement import SizeMeasurement
from scheduler_svc.store.bounded import OPTIONS, BoundedStore
from tests.regressions.partitions import BACKENDS, open_partition
from tests.unit.scheduler_svc.store.store_partition import SHORT_MS, StorePartition, node_stats

BOUND = 6_000  # bytes
LARGE = 1 << 30
MOST = 150  # more than the bound holds
ROOMY = {"VCPU": MOST, "MEMORY_MB": 64 * MOST}


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition of each backend, with host h1."""
    partition = open_partition(request, tmp_path)
    partition.add_host("h1", amounts=ROOMY)
    yield partition
    partition.store.close()


def bound_collection(partition: StorePartition, collection: str) -> SizeMeasurement:
    """Bound one collection of a partition, and return the measurement that its workers repeat."""
    bounds = {**dict.fromkeys(OPTIONS, LARGE), collection: BOUND}
    partition.store = BoundedStore(partition.store, bounds)
    return SizeMeasurement(partition.store)


def remove_tombstones(partition: StorePartition) -> None:
    """Clean up as a worker does, once all tombstones have reached their age."""
    partition.wait_until(partition.time() + 2 * SHORT_MS)
    reaper = Reaper(partition.store, lambda: ReapLimits(None, SHORT_MS))
    reaper.reap()
    while reaper.pause(5.0) < 5.0:
        reaper.reap()


def test_claims_at_their_bound_are_refused_until_instances_are_deleted(partition: StorePartition) -> None:
    measurement = bound_collection(partition, "claims")
    refs: list[ClaimRef] = []
    with pytest.raises(errors.StoreFull) as refusal:
        for number in range(MOST):
            measurement.measure()
            refs.append(partition.hold(f"c{number}", "h1"))
    assert (refusal.value.kwargs["collection"], refusal.value.kwargs["bound"]) == ("claims", BOUND)
    assert {result.answer for result in partition.store.release("h1", refs)} == {Answer.RELEASED}
    measurement.measure()
    assert partition.prepare("new", "h1").answer is Answer.PREPARED
    partition.check()


def test_tombstones_at_their_bound_refuse_claims_and_none_is_removed_early(partition: StorePartition) -> None:
    measurement = bound_collection(partition, "tombstones")
    refs: list[ClaimRef] = []
    with pytest.raises(errors.StoreFull):
        for number in range(MOST):
            measurement.measure()
            refs.append(partition.hold(f"c{number}", "h1"))
            partition.store.release("h1", refs[-1:])
    assert {result.answer for result in partition.store.find(refs)} == {Answer.RELEASED}
    remove_tombstones(partition)
    measurement.measure()
    assert partition.prepare("new", "h1").answer is Answer.PREPARED


def test_hosts_at_their_bound_refuse_new_ones_only(partition: StorePartition) -> None:
    measurement = bound_collection(partition, "hosts")
    with pytest.raises(errors.StoreFull, match="hosts take"):
        for number in range(2, MOST):
            measurement.measure()
            partition.report(f"h{number}", {f"h{number}": node_stats(ROOMY)})
    partition.report("h1", {"h1": node_stats(ROOMY)})
    partition.incarnations.pop("h1")
    partition.report("h1", {"h1": node_stats(ROOMY)})  # its agent was restarted
    assert partition.prepare("c1", "h1").answer is not Answer.REFUSED
    for number in range(2, MOST):
        partition.store.remove(f"h{number}")
    measurement.measure()
    partition.add_host("new")


@pytest.fixture(params=["memory", "redis"])
def records(request: pytest.FixtureRequest) -> Iterator[ConductorStore]:
    """An empty store of conductors that keeps deleted instances for no time."""
    timeouts = StoreTimeouts(retention_ms=0)
    if request.param == "memory":
        yield MemoryConductorStore(timeouts)
        return
    server = request.getfixturevalue("redis_server")
    with server.client() as client:
        client.delete(*client.keys("gantt:{conductor}:*") or ["none"])
        store = RedisConductorStore(server.url(), timeouts)
        yield store
        store.close()
        client.delete(*client.keys("gantt:{conductor}:*"))


@pytest.mark.parametrize("collection", ["records", "deleted"])
def test_conductors_at_a_bound_refuse_requests_and_serve_deletes(records: ConductorStore, collection: str) -> None:
    bounds = RecordBounds(records, {**dict.fromkeys(RECORD_OPTIONS, LARGE), collection: BOUND})
    requests = BuildRequests(records, lambda: None, 10, bounds)
    spec, ctxt = objects.RequestSpec.of(resources={"VCPU": 1}), context.new("project", "user")
    uuids: list[str] = []

    def boot(number: int) -> str:
        uuid = f"00000000-0000-4000-8000-{number:012}"
        bounds.measure()
        requests.build(ctxt, spec, [uuid])
        return uuid

    with pytest.raises(errors.StoreFull) as refusal:
        for number in range(MOST):
            uuids.append(boot(number))
            if collection == "deleted":
                finish_delete(records, uuids[-1:])
    assert (refusal.value.kwargs["collection"], refusal.value.kwargs["bound"]) == (collection, BOUND)
    requests.build(ctxt, spec, uuids[:1])  # a repetition of a recorded request
    finish_delete(records, uuids)
    while records.purge():
        pass
    boot(MOST)


def finish_delete(records: ConductorStore, uuids: list[str]) -> None:
    """Delete instances, and record that their claims have ended, as the saga does."""
    for start in range(0, len(uuids), 10):
        part = uuids[start : start + 10]
        InstanceDeletion(records, lambda: None, 10).delete(part)
        for uuid, record in records.get(part).items():
            if record.status is not InstanceStatus.DELETED:
                ended = replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE)
                assert not records.write_without_lease([ended], wake=False).stale, uuid
