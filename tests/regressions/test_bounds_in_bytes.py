# SPDX-License-Identifier: Apache-2.0
"""A store at its bound refuses new work until some has ended and was removed; nothing had a bound but decisions.

Claims, tombstones, pins and the records of conductors grew until the server had no memory, when every write failed,
those that end something too.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.requests import builds, requested_changes
from conductor.requests.deletion import delete as delete_instance
from conductor.store.bounds import OPTIONS as RECORD_OPTIONS
from conductor.store.bounds import record_bounds
from conductor.store.interface import ConductorStore
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import SagaStep, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from rpcapi import context, errors, objects
from rpcapi.resources.claims import Answer, GroupPolicy
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.replication.reaper import Reaper, ReapLimits
from scheduler_svc.replication.size_measurement import SizeMeasurement
from scheduler_svc.store.bounded import OPTIONS, store_bounds
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.conductor.conductors import make_conductor
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition, intent, node_stats

BOUND = 6_000  # bytes
LARGE = 1 << 30
MOST = 150  # more than the bound holds
ROOMY = {"VCPU": MOST, "MEMORY_MB": 64 * MOST}


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    """A partition of each backend, with host h1."""
    partition = open_partition(request, tmp_path, namespaces=["aggregate"])
    partition.add_host("h1", amounts=ROOMY)
    yield partition
    partition.store.close()


def bound_collection(partition: StorePartition, collection: str) -> SizeMeasurement:
    """Bound one collection of a partition, and return the measurement that its workers repeat."""
    bounds = {**dict.fromkeys(OPTIONS, LARGE), collection: BOUND}
    partition.store.bounds = store_bounds(partition.store.partition, bounds)
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
    bounds = record_bounds({**dict.fromkeys(RECORD_OPTIONS, LARGE), collection: BOUND})
    conductor = make_conductor(records, bounds=bounds)
    spec, ctxt = objects.RequestSpec.of(resources={"VCPU": 1}), context.new("project", "user")
    uuids: list[str] = []

    def boot(number: int) -> str:
        uuid = f"00000000-0000-4000-8000-{number:012}"
        bounds.observe(records.sizes())
        builds.build(conductor, ctxt, spec, [uuid])
        return uuid

    with pytest.raises(errors.StoreFull) as refusal:
        for number in range(MOST):
            uuids.append(boot(number))
            if collection == "deleted":
                finish_delete(records, uuids[-1:])
    assert (refusal.value.kwargs["collection"], refusal.value.kwargs["bound"]) == (collection, BOUND)
    builds.build(conductor, ctxt, spec, uuids[:1])  # a repetition of a recorded request
    finish_delete(records, uuids)
    while records.purge():
        pass
    boot(MOST)


def finish_delete(records: ConductorStore, uuids: list[str]) -> None:
    """Delete instances, and record that their claims have ended, as the saga does."""
    for start in range(0, len(uuids), 10):
        part = uuids[start : start + 10]
        requested_changes.apply(make_conductor(records), part, delete_instance, "delete_instances")
        for uuid, record in records.get(part).items():
            if record.status is not InstanceStatus.DELETED:
                ended = replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE)
                assert not records.write_without_lease([ended], wake=False).stale, uuid


# -- what makes nothing grow is served at a bound ----------------------------------------------------------------------


@pytest.fixture
def full(partition: StorePartition) -> StorePartition:
    """A partition with hosts h1 and h2, a prepared claim c1, a released one, a member of group "m", and pins.

    Every bound is 1 byte.
    """
    partition.add_host("h2", amounts=ROOMY)
    partition.prepare("c1", "h1")
    partition.store.release("h1", [partition.hold("ended", "h1")])
    partition.hold("member", "h1", group=ClaimGroup("m", GroupPolicy.AFFINITY))
    partition.store.pin("request", "a", LONG_MS)
    home = partition.store.group_home("g", "a", LONG_MS)
    partition.store.leave_group("g", home.generation, LONG_MS)
    partition.store.bounds = store_bounds(partition.store.partition, dict.fromkeys(OPTIONS, 1))
    partition.store.sizes()
    return partition


def test_repeated_prepare_gets_its_first_answer_at_the_bound(full: StorePartition) -> None:
    repeated = full.prepare("c1", "h1")
    assert (repeated.answer, repeated.host) == (Answer.PREPARED, "h1")
    assert full.prepare("ended", "h1").answer is Answer.ENDED
    for consumers in (["c2"], ["c1", "c2"]):
        with pytest.raises(errors.StoreFull):
            full.store.prepare(full.batch(*(intent(consumer, "h1") for consumer in consumers)))
    with pytest.raises(errors.StoreFull):
        full.prepare("ended", "h1", attempt=2, replaces=1)  # a claim more
    full.check()


def test_claim_is_replaced_at_the_bound(full: StorePartition) -> None:
    entries = full.store.sizes()["claims"].entries
    replaced = full.prepare("c1", "h2", attempt=2, replaces=1)
    assert (replaced.answer, replaced.host) == (Answer.PREPARED, "h2")
    assert full.prepare("c1", "h2").answer is Answer.ENDED
    assert full.store.sizes()["claims"].entries == entries
    full.check()


def test_stored_pins_are_renewed_at_the_bound(full: StorePartition) -> None:
    store = full.store
    assert store.pin("request", "b", LONG_MS) == "a"
    assert store.pin("request", "b", LONG_MS, instead_of="a") == "b"
    home = store.group_home("g", "b", LONG_MS)
    assert home.partition == "a"
    assert store.group_home("g", "b", LONG_MS, instead_of=home.generation).partition == "b"
    assert store.leave_group("g", home.generation, LONG_MS).members == 0
    assert store.leave_group("m", "1", LONG_MS).members == 1  # the group stays: no pin is added
    for refused in (
        lambda: store.pin("other", "a", LONG_MS),
        lambda: store.group_home("other", "a", LONG_MS),
        lambda: store.leave_group("other", "1", LONG_MS),
    ):
        with pytest.raises(errors.StoreFull):
            refused()


def test_documents_do_not_grow_at_the_bound(partition: StorePartition) -> None:
    state = {"hosts": ["h1"], "metadata": {"zone": "a"}}
    version = partition.store.put_state("aggregate", "1", 0, state)
    measurement = bound_collection(partition, "documents")
    text = "x"
    with pytest.raises(errors.StoreFull, match="documents take"):
        while len(text) < 16 * BOUND:
            measurement.measure()
            text *= 2
            version = partition.store.put_state("aggregate", "1", version, {**state, "metadata": {"zone": text}})
    text = text[: len(text) // 2]
    version = partition.store.put_state("aggregate", "1", version, {**state, "metadata": {"zone": text}})
    partition.store.put_state("aggregate", "1", version, state)
    assert partition.store.get_state("aggregate", "1")[1] == state
    disabled = {"enabled": False}
    partition.store.put_state("service", "h1", partition.store.get_state("service", "h1")[0], disabled)
