# SPDX-License-Identifier: Apache-2.0
"""Reads and writes under a lease, in every back end of the conductor's store."""

from dataclasses import replace

from conductor.store.interface import PAGE
from conductor.store.records import SagaStep
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import StoreWithClock, request, take_lease


def test_write_stores_every_field_and_sets_store_fields(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    lease = take_lease(bench)
    (read_record,) = bench.store.load(lease).instances
    bench.pass_time(5)
    defaults = replace(
        read_record,
        status=InstanceStatus.BUILDING,
        step=SagaStep.WAIT,
        wake_ms=read_record.created_ms + 10_000,
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
        since_ms=read_record.created_ms + 2,
        sequence=99,
        created_ms=1,
    )
    result = bench.store.write(lease, [defaults])
    assert result.stale == frozenset()
    stored_fields = bench.store.get(["a"])["a"]
    assert stored_fields == replace(
        defaults,
        version=stored_fields.version,
        sequence=read_record.sequence,
        created_ms=read_record.created_ms,
        updated_ms=result.now_ms,
    )
    assert stored_fields.version != read_record.version
    assert stored_fields.has_ended(1)
    assert not stored_fields.has_ended(2)
    assert stored_fields.updated_ms > stored_fields.created_ms


def test_write_skips_changed_record(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a", "b"])
    lease = take_lease(bench)
    read_record = bench.store.load(lease).instances
    reported = next(record for record in read_record if record.uuid == "a")
    bench.store.write_without_lease([replace(reported, status=InstanceStatus.DELETING, step=SagaStep.ABORT)], wake=True)

    result = bench.store.write(lease, [replace(record, status=InstanceStatus.BUILDING) for record in read_record])

    assert result.stale == {"a"}
    assert {uuid: record.status for uuid, record in bench.store.get(["a", "b"]).items()} == {
        "a": "DELETING",
        "b": "BUILDING",
    }
    assert {status: count for status, count in bench.store.counts().items() if count} == {
        "DELETING": 1,
        "BUILDING": 1,
    }


def test_write_of_unknown_instance_is_stale(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a"])
    read_record = bench.store.get(["a"])["a"]
    assert bench.store.write_without_lease([replace(read_record, uuid="none")], wake=True).stale == {"none"}
    assert bench.store.get(["none"]) == {}


def test_large_request_is_loaded_and_written_completely(bench: StoreWithClock) -> None:
    uuids = [f"u{number:05}" for number in range(2 * PAGE + 7)]
    bench.store.record(request(), uuids)
    lease = take_lease(bench)
    work = bench.store.load(lease)
    assert [record.uuid for record in work.instances] == uuids
    bench.store.write(
        lease, [replace(record, step=SagaStep.WAIT, status=InstanceStatus.BUILDING) for record in work.instances]
    )
    assert bench.store.counts()["BUILDING"] == len(uuids)
    assert len(bench.store.get(uuids)) == len(uuids)
