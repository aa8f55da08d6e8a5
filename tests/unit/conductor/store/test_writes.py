# SPDX-License-Identifier: Apache-2.0
"""What a holder reads and writes, by every backend of the conductor's store."""

from dataclasses import replace

from conductor.store.interface import PAGE
from conductor.store.records import InstanceStatus, SagaStep
from tests.unit.conductor.store.conftest import Bench, request, take_one


def test_a_write_keeps_every_field_and_the_store_sets_its_own(bench: Bench) -> None:
    bench.store.record(request(), ["a"])
    lease = take_one(bench)
    (seen,) = bench.store.load(lease).instances
    bench.pass_time(5)
    given = replace(
        seen,
        status=InstanceStatus.BUILDING,
        step=SagaStep.WAIT,
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
    bench.store.write_without_lease([replace(told, status=InstanceStatus.DELETING, step=SagaStep.ABORT)], wake=True)

    written = bench.store.write(lease, [replace(each, status=InstanceStatus.BUILDING) for each in seen])

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
    assert bench.store.write_without_lease([replace(seen, uuid="none")], wake=True).stale == {"none"}
    assert bench.store.get(["none"]) == {}


def test_a_large_request_is_loaded_and_written_whole(bench: Bench) -> None:
    uuids = [f"u{number:05}" for number in range(2 * PAGE + 7)]
    bench.store.record(request(), uuids)
    lease = take_one(bench)
    work = bench.store.load(lease)
    assert [each.uuid for each in work.instances] == uuids
    bench.store.write(lease, [replace(each, step=SagaStep.WAIT, status=InstanceStatus.BUILDING) for each in work.instances])
    assert bench.store.counts()["BUILDING"] == len(uuids)
    assert len(bench.store.get(uuids)) == len(uuids)
