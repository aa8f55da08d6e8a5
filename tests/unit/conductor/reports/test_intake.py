# SPDX-License-Identifier: Apache-2.0
"""The effect of each report in each state, including late, repeated and foreign reports."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.reports import intake
from conductor.reports.intake import MAX_WRITE_ATTEMPTS, BuildResult, apply_result
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import CTXT, SimulatedCluster, uuid_list

ENDED = {"attempt": 1, "host": "h1/n", "outcome": "failed", "reason": "r"}
BUILDING = InstanceRecord("u", "r", InstanceStatus.BUILDING, SagaStep.WAIT, attempt=2, host="h2/n", history=[ENDED])
ACTIVE = replace(BUILDING, status=InstanceStatus.ACTIVE, step=SagaStep.DONE)
CLAIM_KEPT = replace(BUILDING, status=InstanceStatus.ERROR, step=SagaStep.DONE, reason="Host unreachable, claim kept")
FAILED = replace(CLAIM_KEPT, history=[ENDED, {**ENDED, "attempt": 2}], reason="All attempts are used")
TERMINATING = replace(BUILDING, status=InstanceStatus.DELETING, step=SagaStep.TERMINATE)
ABORTING = replace(BUILDING, status=InstanceStatus.DELETING, step=SagaStep.ABORT)
DELETED = replace(BUILDING, status=InstanceStatus.DELETED, step=SagaStep.DONE)
REBOOTING = replace(ACTIVE, status=InstanceStatus.REBOOT, step=SagaStep.POWER, operation=7, last_attempt=4)
SCHEDULING = InstanceRecord("u", "r")


def outcome(kind: str, attempt: int = 2, host: str = "h2") -> BuildResult:
    return BuildResult("u", attempt, kind, "why", host)


@pytest.mark.parametrize(
    ("instance", "result", "expected"),
    [
        (BUILDING, outcome("active"), ("ACTIVE", "done")),
        (BUILDING, outcome("refused"), ("BUILDING", "alternate")),
        (BUILDING, outcome("failed"), ("BUILDING", "alternate")),
        (BUILDING, outcome("gone"), ("BUILDING", "alternate")),
        (replace(BUILDING, step=SagaStep.CAST), outcome("active"), ("ACTIVE", "done")),
        (CLAIM_KEPT, outcome("active"), ("ACTIVE", "done")),
        (CLAIM_KEPT, outcome("failed"), ("ERROR", "done")),
        (ACTIVE, outcome("failed"), ("ERROR", "abort")),
        (ACTIVE, outcome("gone"), ("ERROR", "abort")),
        (TERMINATING, outcome("gone"), ("DELETED", "done")),
        (TERMINATING, outcome("failed"), ("DELETED", "done")),  # it was only to be copied
        (BUILDING, outcome("active", attempt=3), ("BUILDING", "settle")),
        (BUILDING, outcome("incoming"), ("ERROR", "terminate")),  # of a live migration that this store has lost
        (CLAIM_KEPT, outcome("incoming"), ("ERROR", "terminate")),
        # Its guest has followed no message about power, and none is awaited.
        (REBOOTING, outcome("active")._replace(operation=7), ("ACTIVE", "done")),
    ],
)
def test_report_changes_record(instance: InstanceRecord, result: BuildResult, expected: tuple[str, str]) -> None:
    changed = apply_result(instance, result)
    assert changed is not None
    assert (changed.status, changed.step) == expected
    assert changed.wake_ms == 0
    # an active instance keeps the reported text as its reason
    assert (
        changed.reason == "why" if changed.status == "ACTIVE" else bool(changed.reason) == (changed.status == "ERROR")
    )
    if result.kind != "active" and instance.status != "DELETING":
        assert changed.has_ended(2)


@pytest.mark.parametrize(
    ("instance", "result"),
    [
        (BUILDING, outcome("active", attempt=1, host="h1")),  # of an attempt that ended
        (BUILDING, outcome("failed", attempt=1, host="h1")),
        (replace(BUILDING, history=[]), outcome("failed", attempt=1)),  # of an older one of the same host
        (BUILDING, outcome("active", host="h1")),  # of a host that was not asked
        (BUILDING, outcome("failed", attempt=3)),
        (replace(BUILDING, history=[ENDED, {**ENDED, "attempt": 2}], step=SagaStep.ALTERNATE), outcome("active")),
        (replace(BUILDING, history=[ENDED, {**ENDED, "attempt": 2}], step=SagaStep.ALTERNATE), outcome("failed")),
        (replace(BUILDING, step=SagaStep.SETTLE), outcome("active", attempt=3)),
        (ACTIVE, outcome("active")),
        (ACTIVE, outcome("incoming")),  # late: it has been migrated
        (ACTIVE, outcome("active", attempt=3)),
        (ACTIVE, outcome("failed", attempt=1, host="h1")),
        (FAILED, outcome("active")),
        (FAILED, outcome("failed")),
        (TERMINATING, outcome("gone", attempt=1, host="h1")),
        (TERMINATING, outcome("gone", host="h1")),
        (TERMINATING, outcome("active")),
        (ABORTING, outcome("gone")),
        (DELETED, outcome("gone")),
        (DELETED, outcome("active")),
        (SCHEDULING, outcome("active", attempt=1)),
    ],
)
def test_report_without_effect(instance: InstanceRecord, result: BuildResult) -> None:
    assert apply_result(instance, result) is None


RETURNED = replace(ACTIVE, host="h1/n", attempt=1, last_attempt=5, history=[])
MOVE = MigrationRecord("m", "u", MigrationKind.MIGRATION, MigrationStatus.REVERTING, "h1/n", "cell", source_attempt=1)


def test_stop_for_a_forgotten_move_is_reported_after_the_return() -> None:
    stopped = outcome("stopped", attempt=1, host="h1")._replace(transition=2)
    assert apply_result(RETURNED, stopped) is None
    settling = apply_result(RETURNED, stopped._replace(migration="m"))
    assert settling is not None
    assert settling.step == SagaStep.SETTLE


@pytest.mark.parametrize("status", [InstanceStatus.REBOOT, InstanceStatus.REBUILD, InstanceStatus.SHELVING])
def test_stop_for_a_forgotten_move_ends_the_operation(status: InstanceStatus) -> None:
    requested = replace(RETURNED, status=status, step=SagaStep.POWER, operation=7)
    stopped = outcome("stopped", attempt=1, host="h1")._replace(transition=6, migration="m")
    settling = apply_result(requested, stopped)
    assert settling is not None
    assert (settling.step, settling.operation) == (SagaStep.SETTLE, 0)


def test_source_that_followed_a_forgotten_message_gets_the_request_again() -> None:
    resuming = replace(
        RETURNED, status=InstanceStatus.REVERT_RESIZE, step=SagaStep.RESUME, last_attempt=3, migration=MOVE
    )
    stopped = outcome("stopped", attempt=1, host="h1")._replace(transition=5, migration="m")
    asking = apply_result(resuming, stopped)
    assert asking is not None
    assert (asking.step, asking.transition_number) == (SagaStep.RESUME, 5)
    resumed = apply_result(resuming, outcome("active", attempt=1, host="h1")._replace(transition=5))
    assert resumed is not None
    assert (resumed.status, resumed.transition_number) == (InstanceStatus.ACTIVE, 5)


@pytest.mark.parametrize("attempt", [1, 2])
def test_guest_off_for_a_later_move_settles_the_return_of_an_earlier_one(attempt: int) -> None:
    moving = replace(BUILDING, status=InstanceStatus.REVERT_RESIZE, step=SagaStep.RESUME, last_attempt=4)
    moving = replace(moving, migration=MOVE, history=[])
    answer = outcome("stopped", attempt, f"h{attempt}")._replace(transition=4, migration="later")
    assert apply_result(moving, answer._replace(transition=3)) is None  # of a move before
    settling = apply_result(moving, answer)
    assert settling is not None
    assert (settling.step, settling.open_migration) == (SagaStep.SETTLE, None)


def test_failure_of_a_forgotten_copy_is_no_reason_of_its_server() -> None:
    copied = outcome("active")._replace(operation=7, copy_number=3, copy_phase="failed")
    rebuilt = apply_result(REBOOTING, copied)
    assert rebuilt is not None
    assert (rebuilt.status, rebuilt.reason) == (InstanceStatus.ACTIVE, None)
    copying = apply_result(REBOOTING, copied._replace(copy_phase="running", reason="NUMA cell 0"))
    assert copying is not None
    assert copying.reason == "NUMA cell 0"  # what the host assigned


def test_source_ends_while_the_deletion_of_its_server_begins_the_move_again() -> None:
    migration = replace(MOVE, status=MigrationStatus.PREPARING)
    deleting = replace(TERMINATING, step=SagaStep.BEGIN_MOVE, host=None, migration=migration)
    ended = apply_result(deleting, outcome("gone", attempt=1, host="h1"))
    assert ended is not None
    assert (ended.status, ended.step, ended.open_migration) == (InstanceStatus.DELETING, SagaStep.ABORT, None)


def test_end_of_a_deleted_source_counts_after_its_claim_had_ended() -> None:
    """Given a live migration without a destination, whose source had lost its claim."""
    migration = MigrationRecord("m", "u", MigrationKind.LIVE, MigrationStatus.PREPARING, "h2/n", source_attempt=2)
    ended_entry = {**ENDED, "attempt": 2, "outcome": "lost"}
    leaving = replace(TERMINATING, step=SagaStep.END_SOURCE, migration=migration, history=[ENDED, ended_entry])
    ended = apply_result(leaving, outcome("gone"))
    assert ended is not None
    assert (ended.status, ended.step, ended.open_migration) == (InstanceStatus.DELETING, SagaStep.ABORT, None)
    assert apply_result(leaving, outcome("active")) is None


@pytest.mark.parametrize("status", [InstanceStatus.VERIFY_RESIZE, InstanceStatus.RESIZE, InstanceStatus.MIGRATING])
def test_late_report_of_an_incoming_source_changes_nothing(status: InstanceStatus) -> None:
    kind = MigrationKind.LIVE if status == InstanceStatus.MIGRATING else MigrationKind.MIGRATION
    moving = replace(BUILDING, status=status, step=SagaStep.STOP_SOURCE, migration=replace(MOVE, kind=kind))
    assert apply_result(moving, outcome("incoming", attempt=1, host="h1")) is None


def test_end_of_a_guest_that_was_to_end_is_checked_at_once() -> None:
    ending = replace(FAILED, step=SagaStep.TERMINATE)
    checking = apply_result(ending, outcome("failed"))
    assert checking is not None
    assert checking.step == SagaStep.ABORT


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    created.conductor()
    return created


def report(
    uuids: list[str], kinds: list[str], host: str = "h1", attempts: list[int] | None = None, **columns: list[Any]
) -> Any:
    return objects.BuildReport.of(
        host=host,
        uuids=uuids,
        attempts=attempts or [1] * len(uuids),
        outcomes=kinds,
        reasons=["why"] * len(uuids),
        **columns,
    )


def test_record_is_written_before_the_answer(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(4)
    cluster.build(uuids)
    cluster.work()
    intake.record(cluster.conductors[0], CTXT, report([uuids[0], uuids[3]], ["active", "failed"]))
    assert [cluster.record(uuids[0]).status, cluster.record(uuids[3]).step] == ["ACTIVE", "alternate"]


@pytest.mark.parametrize(("kind", "attempt", "wakes"), [("active", 1, 1), ("failed", 1, 1), ("failed", 7, 0)])
def test_conductor_continues_at_once_where_a_report_changed_something(
    cluster: SimulatedCluster, kind: str, attempt: int, wakes: int
) -> None:
    # Also after the end of a build, which makes room for a new request
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.work()
    calls: list[None] = []
    conductor = make_conductor(cluster.store, cluster.clients(), wake=lambda: calls.append(None))
    intake.record(conductor, CTXT, report([uuid], [kind], attempts=[attempt]))
    assert len(calls) == wakes


def test_two_results_of_one_instance_are_applied_in_order(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.work()
    intake.record(cluster.conductors[0], CTXT, report([uuid, uuid], ["active", "failed"]))
    assert cluster.record(uuid).status == "ERROR"
    assert "ended it: why" in cluster.reason(uuid)


def test_leaked_guest_is_stopped(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.delete([uuid])
    cluster.settle()
    intake.record(cluster.conductors[0], CTXT, report([uuid, uuid], ["active", "gone"], host="h3", attempts=[7, 6]))
    assert cluster.hosts.casts == [("terminate", "h3", (uuid,))]
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]


def test_guest_without_a_record_keeps_running(cluster: SimulatedCluster) -> None:
    intake.record(cluster.conductors[0], CTXT, report(uuid_list(2), ["active", "gone"]))
    assert cluster.hosts.casts == []


def test_report_fails_if_terminate_cannot_be_sent(cluster: SimulatedCluster) -> None:
    def away(*_: object) -> None:
        raise messaging.MessageDeliveryFailure("no bus")

    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.delete([uuid])
    cluster.hosts.terminate_instances = away  # type: ignore[method-assign, assignment]
    with pytest.raises(messaging.MessageDeliveryFailure):
        intake.record(cluster.conductors[0], CTXT, report([uuid], ["active"]))


@pytest.mark.parametrize(
    "bad",
    [
        report(uuid_list(1), ["exploded"]),
        report(uuid_list(1), ["active"], host="h 1"),
        report(uuid_list(1), ["active"], transitions=[-1]),
        report(uuid_list(1), ["active"], transitions=[2**31 - 1]),  # no number would follow
        report(uuid_list(1001), ["active"] * 1001),
    ],
)
def test_malformed_report_is_refused(cluster: SimulatedCluster, bad: objects.BuildReport) -> None:
    with pytest.raises(errors.InvalidRequest):
        intake.record(cluster.conductors[0], CTXT, bad)


def test_permanent_conflict_fails_the_report(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.work()
    store, rounds = cluster.store, []
    get = store.get

    def get_and_change(uuids: Sequence[str]) -> dict[str, InstanceRecord]:
        records = get(uuids)
        rounds.append(1)
        store.write_without_lease(list(records.values()), wake=False)
        return records

    store.get = get_and_change  # type: ignore[method-assign]
    with pytest.raises(errors.Conflict):
        intake.record(cluster.conductors[0], CTXT, report([uuid], ["active"]))
    assert len(rounds) == MAX_WRITE_ATTEMPTS
