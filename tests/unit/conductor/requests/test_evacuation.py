# SPDX-License-Identifier: Apache-2.0
"""Instances that are evacuated from fenced hosts: statuses, claims, attempts, failures, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.instances import get_instances
from conductor.reports import intake
from conductor.requests.evacuation import evacuate
from conductor.store.migrations import MigrationRecord
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import (
    CTXT,
    THREE,
    SimulatedCluster,
    history,
    move_of,
    uuid_list,
)

UUIDS = uuid_list(3)
FIRST, SECOND, THIRD = UUIDS
MOVE = move_of(FIRST)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with three ACTIVE instances, on h1, h2 and h3."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    assert [created.record(uuid).host for uuid in UUIDS] == ["h1/n", "h2/n", "h3/n"]
    return created


@pytest.fixture
def fenced(cluster: SimulatedCluster) -> SimulatedCluster:
    """The same, with h1 powered off and fenced; the record of its instance says so."""
    cluster.lose_host("h1")
    cluster.compare()
    assert cluster.statuses(UUIDS) == ["ERROR", "ACTIVE", "ACTIVE"]
    cluster.settle()
    return cluster


def test_instance_is_evacuated_while_its_claims_are_looked_for(cluster: SimulatedCluster) -> None:
    cluster.lose_host("h1")
    cluster.compare()
    assert (cluster.record(FIRST).status, cluster.record(FIRST).step) == (InstanceStatus.ERROR, SagaStep.ABORT)
    cluster.evacuate([FIRST])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 3


def migration(cluster: SimulatedCluster, uuid: str = MOVE) -> MigrationRecord:
    return cluster.store.migrations([uuid])[uuid]


def shown(cluster: SimulatedCluster) -> list[str]:
    """Return the statuses that users see."""
    return [instance.status for instance in get_instances(make_conductor(cluster.store), UUIDS).instances]


def put(cluster: SimulatedCluster, uuid: str, **values: object) -> None:
    """Write a record as a test needs it."""
    record = replace(cluster.record(uuid), **values)  # type: ignore[arg-type]
    assert not cluster.store.write_without_lease([record], wake=False).stale


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_instance_of_a_fenced_host_is_built_on_another_one(fenced: SimulatedCluster, is_duplicated: bool) -> None:
    fenced.hosts.duplicate = is_duplicated
    fenced.evacuate([FIRST])
    assert shown(fenced) == ["REBUILD", "ACTIVE", "ACTIVE"]
    assert migration(fenced).status == MigrationStatus.PREPARING
    fenced.settle()
    assert fenced.statuses(UUIDS) == shown(fenced) == ["ACTIVE"] * 3
    fenced.check(UUIDS)
    assert fenced.record(FIRST).attempt == 3
    record = migration(fenced)
    assert (record.kind, record.status, record.instance) == (MigrationKind.EVACUATION, MigrationStatus.COMPLETED, FIRST)
    assert (record.source_host, record.source_attempt) == ("h1/n", 1)
    assert (record.destination_host, record.destination_attempt) == (fenced.record(FIRST).host, 3)
    assert fenced.scheduler.specs[-1].ignore_hosts == ["h1"]


def test_fence_is_enough_while_the_record_has_not_followed(cluster: SimulatedCluster) -> None:
    cluster.lose_host("h1")
    assert cluster.statuses([FIRST]) == ["ACTIVE"]
    cluster.evacuate([FIRST])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 3
    cluster.check(UUIDS)


def test_build_status_is_shown_as_rebuild_until_it_runs(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST])
    fenced.work()
    assert (fenced.record(FIRST).step, shown(fenced)[0]) == (SagaStep.WAIT, "REBUILD")
    assert migration(fenced).status == MigrationStatus.MIGRATING


@pytest.mark.parametrize("is_settled", [False, True], ids=["meanwhile", "afterwards"])
def test_repeated_call_changes_nothing(fenced: SimulatedCluster, is_settled: bool) -> None:
    fenced.evacuate([FIRST])
    if is_settled:
        fenced.settle()
    before = fenced.store.get(UUIDS)
    fenced.evacuate([FIRST])
    assert fenced.store.get(UUIDS) == before
    assert fenced.store.page_migrations(None, 10).records == [migration(fenced)]


@pytest.mark.parametrize("status", ["stop", "stopping"])
def test_instance_that_was_off_ends_off(cluster: SimulatedCluster, status: str) -> None:
    if status == "stopping":
        cluster.hosts.behaviours["h1"] = "lost"
    cluster.stop([FIRST])
    cluster.settle(max_ms=60_000)
    cluster.lose_host("h1")
    cluster.settle()
    cluster.compare()
    assert cluster.statuses([FIRST]) == ["ERROR"]
    cluster.evacuate([FIRST])
    assert migration(cluster).was_stopped
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHUTOFF", "ACTIVE", "ACTIVE"]
    assert migration(cluster).status == MigrationStatus.COMPLETED
    cluster.check(UUIDS)
    cluster.start([FIRST])
    cluster.settle()
    cluster.check(UUIDS)
    assert cluster.statuses([FIRST]) == ["ACTIVE"] and not cluster.record(FIRST).was_stopped


def test_alternates_are_tried_as_for_a_build(fenced: SimulatedCluster) -> None:
    fenced.hosts.behaviours[FIRST, 3] = "refused"
    fenced.evacuate([FIRST])
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["ACTIVE"]
    assert history(fenced, FIRST) == [(3, "h2/n", "refused")]
    record = migration(fenced)
    assert (record.status, record.destination_host, record.destination_attempt) == ("completed", "h3/n", 4)
    assert [entry["attempt"] for entry in record.history] == [3]
    fenced.check(UUIDS)


def test_failure_leaves_error_with_the_reason_of_each_attempt_and_can_be_repeated(cluster: SimulatedCluster) -> None:
    cluster.stop([FIRST])
    cluster.settle()
    cluster.lose_host("h1")
    cluster.compare()
    for attempt in (3, 4):
        cluster.hosts.behaviours[FIRST, attempt] = "failed"
    cluster.evacuate([FIRST])
    cluster.settle()
    record = cluster.record(FIRST)
    assert (record.status, record.step, record.host) == (InstanceStatus.ERROR, SagaStep.DONE, "h1/n")
    assert "attempt 3 on h2/n failed" in cluster.reason(FIRST) and "attempt 4 on h3/n failed" in cluster.reason(FIRST)
    assert (migration(cluster).status, migration(cluster).reason) == (MigrationStatus.ERROR, record.reason)
    assert [entry["attempt"] for entry in migration(cluster).history] == [3, 4]
    cluster.check(UUIDS)
    # When it is evacuated again, then from the same source, and it ends as it was on that
    cluster.evacuate([FIRST], series=2)
    cluster.settle()
    again = migration(cluster, move_of(FIRST, 2))
    assert (again.source_host, again.source_attempt, again.status) == ("h1/n", 1, MigrationStatus.COMPLETED)
    assert cluster.statuses([FIRST]) == ["SHUTOFF"]
    cluster.check(UUIDS)


def test_no_host_leaves_error_with_the_reason(fenced: SimulatedCluster) -> None:
    for host in ("h2", "h3"):
        for number in range(3):
            fenced.ledger.hold(f"{host}-{number}", f"{host}/n")
    before = fenced.store.usage("project")
    fenced.evacuate([FIRST])
    assert fenced.store.usage("project") != before
    fenced.settle()
    record = fenced.record(FIRST)
    assert (record.status, record.host, record.attempt) == (InstanceStatus.ERROR, "h1/n", 3)
    assert fenced.reason(FIRST).startswith("No valid host")
    assert history(fenced, FIRST) == [(3, None, "unplaced")]
    assert migration(fenced).status == MigrationStatus.ERROR
    assert fenced.store.usage("project") == before
    fenced.evacuate([FIRST], series=2)
    assert fenced.record(FIRST).attempt == 5


def test_evacuated_instance_can_be_evacuated_from_its_new_host(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST])
    fenced.settle()
    new_host = (fenced.record(FIRST).host or "").partition("/")[0]
    fenced.lose_host(new_host)
    fenced.compare()
    fenced.evacuate([FIRST], series=2)
    fenced.settle()
    again = migration(fenced, move_of(FIRST, 2))
    assert (again.source_host, again.source_attempt) == (f"{new_host}/n", 3)
    assert fenced.statuses([FIRST]) == ["ACTIVE"] and fenced.record(FIRST).attempt == 4


def test_requested_target_is_the_only_candidate_and_a_forced_host_is_not_kept(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST], "h3")
    fenced.settle()
    assert fenced.record(FIRST).host == "h3/n"
    spec = fenced.scheduler.specs[-1]
    destination = {"partition": PARTITION, "allow_cross_cell_move": False, "host": "h3"}
    assert (spec.force_hosts, spec.requested_destination) == ([], destination)
    assert migration(fenced).target == "h3"
    fenced.check(UUIDS)


def test_silent_destination_keeps_its_claim_and_the_instance_runs_when_it_reports(fenced: SimulatedCluster) -> None:
    fenced.hosts.behaviours["h2"] = fenced.hosts.behaviours["h3"] = "mute"
    fenced.evacuate([FIRST])
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["ERROR"] and "claim kept" in fenced.reason(FIRST)
    with pytest.raises(errors.HostIsUp):
        fenced.evacuate([FIRST], series=2)
    fenced.hosts.send_pending_reports()
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["ACTIVE"]
    fenced.check(UUIDS)


@pytest.mark.parametrize("deliveries", [0, 1, 2])
def test_delete_meanwhile_cancels_the_evacuation(fenced: SimulatedCluster, deliveries: int) -> None:
    fenced.evacuate([FIRST])
    for _ in range(deliveries):
        fenced.work()
        fenced.hosts.deliver()
    fenced.delete([FIRST])
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["DELETED"]
    fenced.check(UUIDS)
    expected = MigrationStatus.COMPLETED if deliveries == 2 else MigrationStatus.CANCELLED
    assert migration(fenced).status == expected


def test_late_report_of_the_fenced_host_changes_nothing(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST])
    fenced.settle()
    before = fenced.store.get(UUIDS)
    for outcome in ("active", "stopped", "gone"):
        report = fenced.hosts.make_report("h1", (FIRST, 1), outcome)
        intake.record(fenced.conductors[0], CTXT, report)
    assert fenced.store.get(UUIDS) == before


# -- rebuild -----------------------------------------------------------------------------------------------------------


def test_rebuild_of_an_instance_of_a_fenced_host_is_an_evacuation(fenced: SimulatedCluster) -> None:
    fenced.rebuild([FIRST, SECOND])
    before = fenced.store.get(UUIDS)
    fenced.rebuild([FIRST, SECOND])  # repeated meanwhile
    assert fenced.store.get(UUIDS) == before and shown(fenced) == ["REBUILD", "REBUILD", "ACTIVE"]
    fenced.settle()
    assert fenced.statuses(UUIDS) == ["ACTIVE"] * 3
    assert fenced.record(FIRST).attempt == 3
    assert [action for action, _number in fenced.hosts.operations[SECOND, 1]] == ["rebuild"]
    (record,) = fenced.store.page_migrations(None, 10).records
    assert (record.kind, record.instance, record.status) == ("evacuation", FIRST, "completed")
    fenced.check(UUIDS)


def test_stopped_instance_that_its_host_loses_during_a_rebuild_ends_off(cluster: SimulatedCluster) -> None:
    cluster.stop([FIRST])
    cluster.settle()
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.rebuild([FIRST])
    cluster.lose_host("h1")
    cluster.settle()
    assert cluster.statuses([FIRST]) == ["ERROR"]
    cluster.rebuild([FIRST])
    cluster.settle()
    assert cluster.statuses([FIRST]) == ["SHUTOFF"]
    cluster.check(UUIDS)


def test_rebuild_of_all_is_refused_where_one_host_may_be_up(fenced: SimulatedCluster) -> None:
    fenced.scheduler.down.clear()
    before = fenced.store.get(UUIDS)
    with pytest.raises(errors.HostIsUp, match="'h1'"):
        fenced.rebuild([SECOND, FIRST])
    assert fenced.store.get(UUIDS) == before


# -- refusals ----------------------------------------------------------------------------------------------------------


def assert_refused(cluster: SimulatedCluster, error: type[Exception], match: str, call: Callable[[], None]) -> None:
    before = (cluster.store.get(UUIDS), cluster.ledger.live(), cluster.store.page_migrations(None, 10))
    with pytest.raises(error, match=match or None):
        call()
    assert (cluster.store.get(UUIDS), cluster.ledger.live(), cluster.store.page_migrations(None, 10)) == before


def test_host_that_is_up_is_refused_until_it_has_learned_of_the_fence(fenced: SimulatedCluster) -> None:
    # Given a fenced host that sends heartbeats
    fenced.scheduler.down.clear()
    assert_refused(fenced, errors.HostIsUp, "'h1' is up", lambda: fenced.evacuate([FIRST]))
    # When it has audited, its guests have been stopped
    fenced.ledger.audit("h1")
    fenced.evacuate([FIRST])
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["ACTIVE"]
    assert fenced.record(FIRST).host != "h1/n"
    fenced.check(UUIDS)


def test_live_claim_is_refused(cluster: SimulatedCluster) -> None:
    assert_refused(cluster, errors.HostIsUp, "'h1' is up", lambda: cluster.evacuate([FIRST]))
    cluster.scheduler.down.add("h1")
    match = "its claim on host h1 is confirmed; fence the host first"
    assert_refused(cluster, errors.InstanceConflict, match, lambda: cluster.evacuate([FIRST]))


def test_removed_host_is_none_that_is_up(fenced: SimulatedCluster) -> None:
    fenced.ledger.store.remove("h1", lost=True)
    fenced.evacuate([FIRST])
    fenced.settle()
    assert fenced.statuses([FIRST]) == ["ACTIVE"]


@pytest.mark.parametrize(
    "status",
    [
        *("SCHEDULING", "BUILDING", "SHELVING", "SHELVED", "OFFLOADING", "SHELVED_OFFLOADED", "UNSHELVING"),
        *("DELETING", "DELETED"),
    ],
)
def test_other_statuses_are_refused_and_nothing_is_changed(fenced: SimulatedCluster, status: str) -> None:
    put(fenced, SECOND, status=InstanceStatus(status))
    match = f"it is {status}; an evacuation is possible from ACTIVE"
    assert_refused(fenced, errors.InstanceConflict, match, lambda: fenced.evacuate([FIRST, SECOND]))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({"step": SagaStep.TERMINATE}, "its step terminate is in progress; retry"),
        ({"host": None, "history": []}, "it was never built"),
        ({"history": [{"attempt": 1, "host": "h1/n", "outcome": "refused", "reason": "r"}]}, "it was never built"),
    ],
    ids=["busy", "nowhere", "refused"],
)
def test_other_errors_are_refused(fenced: SimulatedCluster, values: dict[str, Any], match: str) -> None:
    put(fenced, FIRST, **values)
    assert_refused(fenced, errors.InstanceConflict, match, lambda: fenced.evacuate([FIRST]))


def test_open_migration_is_refused(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST])
    match = f"its migration {MOVE} is preparing"
    assert_refused(fenced, errors.InstanceConflict, match, lambda: fenced.evacuate([FIRST], series=2))


@pytest.mark.parametrize(
    ("target", "error", "match"),
    [
        ("h1", errors.InvalidRequest, "target h1 is the host that"),
        ("H1", errors.InvalidRequest, "target H1 is the host that"),
        ("h1/n", errors.InvalidRequest, "target h1/n is the host that"),
        ("h9", errors.UnknownHost, "h9"),
        ("h2", errors.NoValidHost, "h2 does not take 1 of them: 1 not enough VCPU"),
        ("", errors.InvalidName, ""),
    ],
)
def test_targets_that_are_refused(fenced: SimulatedCluster, target: str, error: type[Exception], match: str) -> None:
    for number in range(3):
        fenced.ledger.hold(f"h2-{number}", "h2/n")
    assert_refused(fenced, error, match, lambda: fenced.evacuate([FIRST], target))


@pytest.mark.parametrize(
    ("uuids", "migrations", "error", "match"),
    [
        (["a"], [MOVE], errors.InvalidName, "is not the uuid of an instance"),
        ([FIRST], ["m"], errors.InvalidName, "is not the uuid of a migration"),
        ([], [], errors.InvalidCount, ""),
        ([FIRST], [MOVE, move_of(FIRST, 2)], errors.InvalidRequest, ""),
        ([FIRST, FIRST], [MOVE, move_of(FIRST, 2)], errors.InvalidRequest, ""),
        ([FIRST, SECOND], [MOVE, MOVE], errors.InvalidRequest, "migration .* is given twice"),
        ([uuid_list(9)[8]], [MOVE], errors.UnknownInstance, ""),
        ([FIRST], None, errors.InvalidRequest, ""),
    ],
)
def test_malformed_calls_are_refused(
    fenced: SimulatedCluster, uuids: Any, migrations: Any, error: type[Exception], match: str
) -> None:
    conductor = fenced.conductors[0]
    assert_refused(fenced, error, match, lambda: evacuate(conductor, CTXT, uuids, migrations))


def test_uuid_of_an_earlier_migration_is_refused(fenced: SimulatedCluster) -> None:
    fenced.evacuate([FIRST])
    fenced.settle()
    fenced.lose_host("h2")
    fenced.compare()
    conductor = fenced.conductors[0]
    match = f"migration {MOVE} is an earlier migration of it"
    assert_refused(fenced, errors.InstanceConflict, match, lambda: evacuate(conductor, CTXT, [SECOND], [MOVE]))


def test_services_that_do_not_answer_are_unavailable(fenced: SimulatedCluster) -> None:
    fenced.scheduler.unanswered = messaging.MessagingTimeout("no answer")
    assert_refused(fenced, errors.Unavailable, "The scheduler cannot be reached", lambda: fenced.evacuate([FIRST]))
    fenced.scheduler.unanswered = None
    put(fenced, FIRST, history=[])
    fenced.claims.down = messaging.MessagingTimeout("no answer")
    assert_refused(fenced, errors.Unavailable, "The claims service cannot", lambda: fenced.evacuate([FIRST]))
