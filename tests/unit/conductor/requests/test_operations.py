# SPDX-License-Identifier: Apache-2.0
"""Instances that are rebooted and rebuilt: accepted in which status, executed once, and with silent or fenced hosts."""

import functools
from collections.abc import Callable

import pytest

from conductor.requests.operations import ALLOWED
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)
Request = Callable[[SimulatedCluster, list[str]], None]
REQUESTS: dict[InstanceStatus, Request] = {
    InstanceStatus.REBOOT: SimulatedCluster.reboot,
    InstanceStatus.HARD_REBOOT: functools.partial(SimulatedCluster.reboot, hard=True),
    InstanceStatus.REBUILD: SimulatedCluster.rebuild,
}


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with two ACTIVE instances."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    return created


def host_of(cluster: SimulatedCluster, uuid: str) -> str:
    return (cluster.record(uuid).host or "").partition("/")[0]


def actions(cluster: SimulatedCluster, uuid: str) -> list[str]:
    """Return the operations that hosts have executed on the instance's attempt."""
    return [action for action, _number in cluster.hosts.operations.get((uuid, cluster.record(uuid).attempt), [])]


def put(cluster: SimulatedCluster, uuid: str, **values: object) -> None:
    """Write a record as a test needs it."""
    record = cluster.store.get([uuid])[uuid]
    for name, value in values.items():
        object.__setattr__(record, name, value)
    assert not cluster.store.write_without_lease([record], wake=False).stale


@pytest.mark.parametrize("is_duplicated", [False, True])
@pytest.mark.parametrize("status", REQUESTS)
def test_operation_is_executed_once_under_the_same_claim(
    cluster: SimulatedCluster, status: InstanceStatus, is_duplicated: bool
) -> None:
    cluster.hosts.duplicate = is_duplicated
    before = [(cluster.record(uuid).host, cluster.record(uuid).attempt) for uuid in UUIDS]
    REQUESTS[status](cluster, UUIDS)
    assert cluster.statuses(UUIDS) == [status] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [(cluster.record(uuid).host, cluster.record(uuid).attempt) for uuid in UUIDS] == before
    assert [actions(cluster, uuid) for uuid in UUIDS] == [["rebuild" if status == "REBUILD" else "reboot"]] * 2
    assert {cluster.record(uuid).operation for uuid in UUIDS} == {0}
    cluster.check(UUIDS)


def test_second_operation_is_executed_too(cluster: SimulatedCluster) -> None:
    for _ in range(2):
        cluster.reboot(UUIDS[:1])
        cluster.settle()
    cluster.rebuild(UUIDS[:1])
    cluster.settle()
    assert actions(cluster, UUIDS[0]) == ["reboot", "reboot", "rebuild"]


def test_rebuilt_instance_that_was_stopped_stays_off_and_a_hard_reboot_starts_it(cluster: SimulatedCluster) -> None:
    cluster.stop(UUIDS)
    cluster.settle()
    cluster.rebuild(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHUTOFF"] * 2
    cluster.check(UUIDS)
    cluster.reboot(UUIDS, hard=True)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    cluster.check(UUIDS)


def test_request_that_is_repeated_meanwhile_changes_nothing(cluster: SimulatedCluster) -> None:
    for request in REQUESTS.values():
        request(cluster, UUIDS)
        before = cluster.store.get(UUIDS)
        request(cluster, UUIDS)
        assert cluster.store.get(UUIDS) == before
        cluster.settle()


def test_hard_reboot_replaces_one_that_the_guest_does_not_finish(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.hosts.behaviours[host] = "lost"
    cluster.reboot(UUIDS[:1])
    cluster.settle(max_ms=60_000)
    cluster.hosts.behaviours[host] = "active"
    cluster.reboot(UUIDS[:1], hard=True)
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert actions(cluster, UUIDS[0]) == ["reboot"]


@pytest.mark.parametrize(
    ("request_status", "status"),
    [
        (request_status, status)
        for request_status, allowed in ALLOWED.items()
        for status in InstanceStatus
        if status not in (*allowed, request_status)
    ],
)
def test_other_statuses_are_refused_and_nothing_is_changed(
    cluster: SimulatedCluster, request_status: InstanceStatus, status: InstanceStatus
) -> None:
    # Given one instance that may be changed, and one that may not
    put(cluster, UUIDS[1], status=status)
    before = cluster.store.get(UUIDS)
    # When both are requested, then neither is changed
    with pytest.raises(errors.InstanceConflict, match=f"it is {status}; {request_status} is possible from") as refusal:
        REQUESTS[request_status](cluster, UUIDS)
    assert refusal.value.kwargs["uuid"] == UUIDS[1]
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("status", [InstanceStatus.HARD_REBOOT, InstanceStatus.REBUILD])
def test_instance_in_error_whose_host_has_the_claim_becomes_active(
    cluster: SimulatedCluster, status: InstanceStatus
) -> None:
    put(cluster, UUIDS[0], status=InstanceStatus.ERROR, reason="Host unreachable, claim kept")
    REQUESTS[status](cluster, UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize(
    "values",
    [{"host": None}, {"step": SagaStep.ABORT}, {"history": [{"attempt": 1, "outcome": "refused"}]}],
    ids=["nowhere", "busy", "ended"],
)
def test_instance_in_error_on_no_host_is_refused(cluster: SimulatedCluster, values: dict[str, object]) -> None:
    put(cluster, UUIDS[0], status=InstanceStatus.ERROR, **values)
    before = cluster.store.get(UUIDS)
    for status in (InstanceStatus.HARD_REBOOT, InstanceStatus.REBUILD):
        with pytest.raises(errors.InstanceConflict, match="it is in ERROR and on no host"):
            REQUESTS[status](cluster, UUIDS[:1])
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("is_delivered", [False, True], ids=["before the host has it", "after"])
@pytest.mark.parametrize("status", REQUESTS)
def test_delete_meanwhile(cluster: SimulatedCluster, status: InstanceStatus, is_delivered: bool) -> None:
    REQUESTS[status](cluster, UUIDS)
    if is_delivered:
        cluster.work()
        cluster.hosts.deliver()
    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    cluster.check(UUIDS)


def test_message_is_repeated_until_the_host_reports(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.hosts.behaviours[host] = "lost"
    cluster.rebuild(UUIDS[:1])
    cluster.settle(max_ms=600_000)
    assert cluster.statuses(UUIDS[:1]) == ["REBUILD"]
    cluster.hosts.behaviours[host] = "active"
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"] and actions(cluster, UUIDS[0]) == ["rebuild"]


def test_late_report_of_the_running_guest_does_not_end_the_operation(cluster: SimulatedCluster) -> None:
    # Given a report of a start that has not arrived
    cluster.stop(UUIDS[:1])
    cluster.settle()
    host = host_of(cluster, UUIDS[0])
    cluster.hosts.behaviours[host] = "mute"
    cluster.start(UUIDS[:1])
    cluster.work_off()
    late = list(cluster.hosts.pending_reports)
    assert late
    cluster.hosts.send_pending_reports()
    cluster.settle()
    # When it arrives again during a reboot
    cluster.hosts.behaviours[host] = "lost"
    cluster.reboot(UUIDS[:1])
    cluster.work_off()
    cluster.hosts.pending_reports = late
    cluster.hosts.send_pending_reports()
    cluster.work_off()
    assert cluster.statuses(UUIDS[:1]) == ["REBOOT"]
    # Then the reboot ends when it is executed
    cluster.hosts.behaviours[host] = "active"
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"] and actions(cluster, UUIDS[0]) == ["reboot"]


def test_number_that_a_host_has_already_is_replaced_by_a_later_one(cluster: SimulatedCluster) -> None:
    """Given a store that lost an operation, and a clock that went back since."""
    cluster.hosts.operations[UUIDS[0], 1] = [("reboot", cluster.now_ms + 5000)]
    cluster.reboot(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert cluster.hosts.operations[UUIDS[0], 1][1:] == [("reboot", cluster.hosts.operations[UUIDS[0], 1][0][1] + 1)]


@pytest.mark.parametrize("status", REQUESTS)
def test_operation_on_a_fenced_host_ends_in_error(cluster: SimulatedCluster, status: InstanceStatus) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.hosts.behaviours[host] = "lost"
    REQUESTS[status](cluster, UUIDS[:1])
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.settle()
    record = cluster.record(UUIDS[0])
    assert (record.status, record.step, record.operation) == (InstanceStatus.ERROR, SagaStep.DONE, 0)
    assert record.reason == f"host {host} no longer runs it: its claim was fenced"


def test_operation_on_a_host_that_lost_the_guest_ends_in_error(cluster: SimulatedCluster) -> None:
    record = cluster.record(UUIDS[0])
    assert record.host is not None
    del cluster.hosts.guests[UUIDS[0], record.attempt]
    cluster.reboot(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ERROR"]
    assert cluster.reason(UUIDS[0]) == f"Its host {host_of(cluster, UUIDS[0])} ended it: its guest is not on this host"


@pytest.mark.parametrize("found_by", ["report", "comparison"])
@pytest.mark.parametrize("status", REQUESTS)
def test_operation_of_a_lost_attempt_does_not_keep_its_successor_building(
    cluster: SimulatedCluster, status: InstanceStatus, found_by: str
) -> None:
    # Given an instance that was evacuated during an operation, and a store that forgot the evacuation
    REQUESTS[status](cluster, UUIDS[:1])
    records = cluster.copy_records()
    cluster.lose_host(host_of(cluster, UUIDS[0]))
    cluster.settle()
    cluster.evacuate(UUIDS[:1])
    cluster.settle()
    evacuated = cluster.record(UUIDS[0])
    cluster.restore_records(records)
    # When the conductors find the evacuated guest
    if found_by == "report":
        del cluster.hosts.behaviours["h1"]
    else:
        cluster.compare()
    cluster.settle()
    # Then it is ACTIVE
    record = cluster.record(UUIDS[0])
    assert (record.status, record.host, record.attempt) == (InstanceStatus.ACTIVE, evacuated.host, evacuated.attempt)
