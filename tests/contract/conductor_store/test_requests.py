# SPDX-License-Identifier: Apache-2.0
"""Recording, purging and listing of requests, in every back end of the conductor's store."""

from dataclasses import replace

import pytest

from conductor.admission import Admission
from conductor.store.records import InstanceRecord, SagaStep, StoreTimeouts, make_request_key
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import RETENTION_MS, StoreWithClock, request, take_lease


def test_request_is_recorded_once_and_due(bench: StoreWithClock) -> None:
    assert bench.store.record(request(), ["b", "a"]) is True
    assert bench.store.record(request(), ["b", "a"]) is False

    lease = take_lease(bench)
    work = bench.store.load(lease)

    assert work.request == request()
    assert {record.uuid for record in work.instances} == {"a", "b"}
    assert all((record.status, record.step) == ("SCHEDULING", "select") for record in work.instances)
    assert work.next_ms is None
    assert bench.store.requests(["req", "none"]) == {"req": request()}
    assert bench.store.counts() == {"SCHEDULING": 2}


def test_record_is_certain_if_its_request_was_sent_after_the_epoch_began(bench: StoreWithClock) -> None:
    """Given requests that were first sent long after the store's epoch began, before that, and at unknown time."""
    for number, first_sent_ms in enumerate((bench.now() + 5_000, bench.now() - 5_000, None)):
        bench.store.record(request(f"r{number}"), [f"u{number}"], first_sent_ms)
    works = [bench.store.load(lease) for lease in bench.store.take("me", 10)]
    certain = {work.instances[0].uuid: work.instances[0].certain_epoch for work in works}
    (epoch,) = {work.epoch for work in works}
    assert certain == {"u0": epoch, "u1": 0, "u2": 0}
    assert all(work.may_repeat for work in works)


def test_unknown_request_that_is_too_old_is_refused(bench: StoreWithClock) -> None:
    first_sent_ms = bench.now() - StoreTimeouts().repeat_horizon_ms + 60_000
    bench.store.record(request("known"), ["a"], first_sent_ms)
    assert bench.store.record(request("known"), ["a"], first_sent_ms - 120_000) is False
    with pytest.raises(errors.RequestTooOld):
        bench.store.record(request("unknown"), ["b"], first_sent_ms - 120_000)
    assert bench.store.get(["b"]) == {}


def test_unknown_request_whose_caller_has_ceased_to_wait_is_refused(bench: StoreWithClock) -> None:
    bench.store.record(request("known"), ["a"], deadline_ms=bench.now() + 60_000)
    assert bench.store.record(request("known"), ["a"], deadline_ms=bench.now() - 1000) is False
    with pytest.raises(errors.DeadlinePassed, match="req-unknown"):
        bench.store.record(request("unknown"), ["b"], deadline_ms=bench.now() - 1000)
    assert bench.store.get(["b"]) == {}
    assert [lease.request for lease in bench.store.take("me", 10)] == ["known"]


def test_uuid_of_another_request_conflicts_and_records_nothing(bench: StoreWithClock) -> None:
    bench.store.record(request("first"), ["a"])
    with pytest.raises(errors.InstanceConflict):
        bench.store.record(request("second"), ["new", "a"])
    assert bench.store.get(["new", "a"]).keys() == {"a"}
    assert bench.store.requests(["second"]) == {}
    assert [lease.request for lease in bench.store.take("me", 10)] == ["first"]


RUNNING = InstanceRecord("a", "req", InstanceStatus.BUILDING, SagaStep.CAST, attempt=3, host="h1/n")


def test_adopted_instance_is_due_for_its_step_and_counts_without_a_limit(bench: StoreWithClock) -> None:
    # given a project that uses all that its limit allows
    limited = Admission({"instances": 1, "VCPU": 2}, {"instances": 1})
    owner = make_request_key("p", "1")
    bench.store.record(request(owner), ["other"], admission=limited)
    bench.store.release(take_lease(bench), None)

    key = make_request_key("p", "2")
    adopted = replace(RUNNING, request=key)
    assert bench.store.adopt(request(key), adopted, {"instances": 1, "VCPU": 2}) is True
    assert bench.store.adopt(request(key), adopted, {"instances": 1, "VCPU": 2}) is False

    assert bench.store.usage("p") == {"instances": 2, "VCPU": 4, "recorded_instances": 2}
    work = bench.store.load(take_lease(bench))
    (record,) = work.instances
    assert work.request == request(key)
    assert (record.uuid, record.status, record.step) == ("a", "BUILDING", "cast")
    assert (record.attempt, record.host) == (3, "h1/n")
    assert bench.store.page(None, 10, deleted=False).records[-1] == record
    with pytest.raises(errors.QuotaExceeded):
        bench.store.record(request(make_request_key("p", "3")), ["c"], admission=limited)


def test_adopted_instance_is_deleted_and_purged_as_any_other(bench: StoreWithClock) -> None:
    key = make_request_key("p", "2")
    bench.store.adopt(request(key), replace(RUNNING, request=key), {"instances": 1})
    lease = take_lease(bench)
    (record,) = bench.store.load(lease).instances
    bench.store.write(lease, [replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE)])
    bench.store.release(lease, None)
    bench.pass_time(RETENTION_MS)
    assert bench.store.purge() == 1
    assert (bench.store.usage("p"), bench.store.requests([key])) == ({}, {})
    assert bench.store.counts().get("BUILDING", 0) == 0


def test_recorded_instance_is_not_adopted_for_another_request(bench: StoreWithClock) -> None:
    bench.store.record(request("first"), ["a"])
    with pytest.raises(errors.InstanceConflict):
        bench.store.adopt(request("second"), replace(RUNNING, request="second"), {"instances": 1})
    assert bench.store.requests(["second"]) == {}
    assert bench.store.counts() == {"SCHEDULING": 1}


def test_deleted_record_is_purged_after_retention(bench: StoreWithClock) -> None:
    bench.store.record(request(), ["a", "b"])
    lease = take_lease(bench)
    rows = bench.store.load(lease).instances
    bench.store.write(lease, [replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE) for record in rows])
    bench.store.release(lease, None)
    assert bench.store.purge() == 0
    assert bench.store.record(request(), ["a", "b"]) is False
    assert bench.store.page(None, 10, deleted=False).records == []
    assert [record.uuid for record in bench.store.page(None, 10, deleted=True).records] == ["a", "b"]

    bench.pass_time(RETENTION_MS)

    assert bench.store.purge(1) == 1
    assert bench.store.requests(["req"]) != {}
    assert bench.store.purge() == 1
    assert bench.store.requests(["req"]) == {}
    assert bench.store.get(["a", "b"]) == {}
    assert bench.store.page(None, 10, deleted=True).records == []
    assert sum(bench.store.counts().values()) == 0
    assert bench.store.record(request(), ["a", "b"]) is True


def test_pages_are_ordered_oldest_first(bench: StoreWithClock) -> None:
    for number in range(5):
        bench.store.record(request(f"r{number}"), [f"z{5 - number}", f"a{number}"])
    read_record, marker = [], None
    while True:
        page = bench.store.page(marker, 3, deleted=False)
        assert len(page.records) <= 3
        read_record += [record.uuid for record in page.records]
        if (marker := page.marker) is None:
            break
    assert read_record == [uuid for number in range(5) for uuid in (f"z{5 - number}", f"a{number}")]
    with pytest.raises(errors.InvalidRequest):
        bench.store.page("a0", 3, deleted=False)
