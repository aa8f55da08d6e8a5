# SPDX-License-Identifier: Apache-2.0
"""Each promise to a caller: the checker finds where the final state breaks it."""

from dataclasses import replace

import pytest

from devstack.lab.chaos.checker import check
from devstack.lab.chaos.final_state import (
    FinalState,
    GuestFile,
    InstanceState,
    JournalledAttempt,
    MigrationState,
    StoredPartition,
)
from devstack.lab.chaos.history import CallHistory, CallOutcome, ClaimSighting, GuestSighting, Operation, UseSighting
from devstack.lab.chaos.violations import ViolationKind
from tests.unit.devstack.lab.chaos.crafted import (
    DELETED,
    REFUSED,
    RUNS,
    SIZE,
    USED,
    USED_TWICE,
    CraftedRun,
    claim,
    write,
)


def test_acknowledged_boot_without_a_record() -> None:
    run = CraftedRun()
    del run.instances[REFUSED]
    assert run.kinds() == {ViolationKind.LOST}


def test_unanswered_boot_may_have_no_record() -> None:
    run = CraftedRun()
    run.history.operations.append(Operation("boot", ["unanswered"], 6.0))
    assert not run.check().violations


def test_forgotten_boot_may_have_ended() -> None:
    run = CraftedRun()
    run.history.faults.append({"at": 9.0, "forgets_since": 1.0})
    run.history.forget()
    run.instances.clear()
    run.guests.clear()
    run.attempts.clear()
    run.change_partition(claims=[], used={}, ended={RUNS: {1: "released"}, DELETED: {1: "released"}})
    assert not run.check().violations


def test_boot_that_ended_without_a_delete() -> None:
    run = CraftedRun()
    run.instances[REFUSED] = replace(run.instances[REFUSED], status="DELETED")
    assert run.kinds() == {ViolationKind.LOST}


def test_active_instance_that_does_not_run() -> None:
    run = CraftedRun()
    run.guests.clear()
    assert ViolationKind.LOST in run.kinds()


def test_active_instance_that_runs_elsewhere() -> None:
    run = CraftedRun()
    run.instances[RUNS] = replace(run.instances[RUNS], host="h2/node0")
    assert run.kinds() == {ViolationKind.LOST}


def changed_run(status: str, *changes: str, is_off: bool = False) -> CraftedRun:
    """Return a run in which the instance that ran was changed, and is at rest in this status."""
    run = CraftedRun()
    for number, verb in enumerate(changes):
        at = 6.0 + number
        run.history.operations.append(Operation(verb, [RUNS], at, at + 0.1, CallOutcome.ACKNOWLEDGED))
    run.instances[RUNS] = replace(run.instances[RUNS], status=status)
    run.guests = [replace(guest, is_off=is_off) for guest in run.guests]
    return run


@pytest.mark.parametrize(
    ("status", "changes", "is_off"),
    [
        ("SHUTOFF", ["stop"], True),
        ("SHUTOFF", ["stop", "rebuild"], True),
        ("ACTIVE", ["stop", "start"], False),
        ("ACTIVE", ["reboot", "rebuild"], False),
        ("SHELVED", ["shelve"], True),
        ("ACTIVE", ["shelve", "unshelve"], False),
    ],
)
def test_kept_promises_of_changes(status: str, changes: list[str], is_off: bool) -> None:
    assert not changed_run(status, *changes, is_off=is_off).check().violations


@pytest.mark.parametrize(
    ("status", "changes", "is_off"),
    [
        ("ACTIVE", ["stop"], False),
        ("SHUTOFF", [], True),
        ("SHUTOFF", ["stop", "start"], True),
        ("SHUTOFF", ["reboot"], True),
        ("ACTIVE", ["stop", "rebuild"], False),
        ("ACTIVE", ["shelve"], False),
        ("SHELVED", ["stop"], True),
    ],
)
def test_acknowledged_change_that_was_undone_or_not_requested(status: str, changes: list[str], is_off: bool) -> None:
    assert changed_run(status, *changes, is_off=is_off).kinds() == {ViolationKind.LOST}


@pytest.mark.parametrize(("status", "changes", "is_off"), [("SHUTOFF", ["stop"], False), ("ACTIVE", [], True)])
def test_guest_whose_power_differs_from_its_record(status: str, changes: list[str], is_off: bool) -> None:
    assert changed_run(status, *changes, is_off=is_off).kinds() == {ViolationKind.DIVERGED}


MIGRATION = "moves"


def moved_run(status: str, migration: str, *, is_at_source: bool, reason: str | None = None) -> CraftedRun:
    """Return a run in which the instance moved to h2, whose record and migration are in these statuses."""
    run, node = CraftedRun(), "h2/node0"
    run.history.operations.append(
        Operation("migrate", [RUNS], 6.0, 6.1, CallOutcome.ACKNOWLEDGED, migrations={RUNS: MIGRATION})
    )
    run.instances[RUNS] = InstanceState(RUNS, status, 2, node)
    run.migrations[MIGRATION] = MigrationState(MIGRATION, RUNS, migration, reason)
    run.guests = [GuestFile("h2", RUNS, 2, node), *([GuestFile("h1", RUNS, 1, "h1/node0", True)] * is_at_source)]
    run.attempts = [
        JournalledAttempt("h2", RUNS, 2, ("intent", "confirmed", "spawned"), node, {node: SIZE}),
        JournalledAttempt("h1", RUNS, 1, ("spawned",), "h1/node0", {"h1/node0": SIZE}),
    ][: 2 if is_at_source else 1]
    source = claim(source_of=MIGRATION)
    destination = claim(attempt=2, host=node, allocations={node: SIZE})
    run.change_partition(
        claims=[destination, *([source] * is_at_source)],
        used={node: USED} | ({"h1/node0": USED} if is_at_source else {}),
        ended={DELETED: {1: "released"}} | ({} if is_at_source else {RUNS: {1: "released"}}),
    )
    return run


@pytest.mark.parametrize(
    ("status", "migration", "is_at_source"), [("VERIFY_RESIZE", "finished", True), ("ACTIVE", "confirmed", False)]
)
def test_kept_promises_of_moves(status: str, migration: str, is_at_source: bool) -> None:
    assert not moved_run(status, migration, is_at_source=is_at_source).check().violations


@pytest.mark.parametrize(
    ("status", "migration", "is_at_source", "kind"),
    [
        ("ACTIVE", "confirmed", True, ViolationKind.DIVERGED),
        ("VERIFY_RESIZE", "finished", False, ViolationKind.DIVERGED),
        ("ACTIVE", "migrating", True, ViolationKind.UNSETTLED),
        ("ACTIVE", "finished", True, ViolationKind.UNSETTLED),
        ("ACTIVE", "error", False, ViolationKind.UNEXPLAINED),
    ],
)
def test_move_that_does_not_end_or_leaves_something(
    status: str, migration: str, is_at_source: bool, kind: ViolationKind
) -> None:
    assert moved_run(status, migration, is_at_source=is_at_source).kinds() == {kind}


def test_source_that_runs_while_the_move_waits() -> None:
    run = moved_run("VERIFY_RESIZE", "finished", is_at_source=True)
    run.guests = [replace(guest, is_off=False) for guest in run.guests]
    assert run.kinds() == {ViolationKind.DIVERGED, ViolationKind.DOUBLY_RUNNING}


def test_source_whose_guest_is_gone_while_the_move_waits() -> None:
    run = moved_run("VERIFY_RESIZE", "finished", is_at_source=True)
    del run.guests[1]
    run.history.guests.clear()  # no observer saw it
    assert run.kinds() == {ViolationKind.DIVERGED}


def test_acknowledged_move_without_a_record() -> None:
    run = moved_run("ACTIVE", "confirmed", is_at_source=False)
    run.migrations.clear()
    assert run.kinds() == {ViolationKind.LOST}


@pytest.mark.parametrize("change", ["stop", "reboot", "rebuild", "shelve"])
def test_change_that_does_not_end(change: str) -> None:
    assert changed_run("STOPPING", change).kinds() == {ViolationKind.UNSETTLED}


def offloaded_run(*changes: str) -> CraftedRun:
    run = changed_run("SHELVED_OFFLOADED", *changes)
    run.guests.clear()
    ended = replace(run.attempts[0], stages=("confirmed", "spawned", "gone"), allocations={}, outcome="gone")
    run.attempts[0] = ended
    run.change_partition(claims=[], used={}, ended={RUNS: {1: "released"}, DELETED: {1: "released"}})
    run.history.claims.append(write(RUNS, 1, "released"))
    return run


@pytest.mark.parametrize("changes", [["shelve"], ["shelve", "unshelve"]])
def test_guest_of_a_shelved_instance_may_end(changes: list[str]) -> None:
    assert not offloaded_run(*changes).check().violations


def test_guest_that_ended_without_a_shelve_or_delete() -> None:
    assert offloaded_run("stop").kinds() == {ViolationKind.LOST, ViolationKind.STOPPED}


def test_offloaded_instance_that_still_runs() -> None:
    assert changed_run("SHELVED_OFFLOADED", "shelve").kinds() == {ViolationKind.DIVERGED}


def test_error_without_a_reason() -> None:
    run = CraftedRun()
    run.instances[REFUSED] = replace(run.instances[REFUSED], reason=None)
    assert run.kinds() == {ViolationKind.UNEXPLAINED}


def test_error_of_an_instance_that_runs() -> None:
    run = CraftedRun()
    run.instances[RUNS] = InstanceState(RUNS, "ERROR", 1, "h1/node0", "host unreachable, claim kept")
    assert run.kinds() == {ViolationKind.DIVERGED}


@pytest.mark.parametrize(("uuid", "status"), [(REFUSED, "BUILDING"), (DELETED, "DELETING")])
def test_unsettled_instance(uuid: str, status: str) -> None:
    run = CraftedRun()
    run.instances[uuid] = replace(run.instances[uuid], status=status)
    assert run.kinds() == {ViolationKind.UNSETTLED}


def test_acknowledged_delete_of_an_instance_that_is_active() -> None:
    # The conductor's store forgot the delete
    run = CraftedRun()
    run.history.operations.append(Operation("delete", [RUNS], 6.0, 6.1, CallOutcome.ACKNOWLEDGED))
    evidence = [item.evidence for item in run.check().violations if item.kind is ViolationKind.LOST]
    assert any("is ACTIVE" in text for text in evidence)


def test_acknowledged_delete_whose_claim_came_back() -> None:
    run = CraftedRun()
    run.change_partition(claims=[claim(), claim(DELETED)], used={"h1/node0": USED_TWICE}, ended={})
    assert ViolationKind.LOST in run.kinds()


def test_unanswered_delete_may_or_may_not_have_happened() -> None:
    run = CraftedRun()
    run.history.operations.append(Operation("delete", [RUNS, REFUSED], 6.0))
    assert not run.check().violations
    del run.instances[REFUSED]
    assert not run.check().violations


def test_guest_that_stopped_unasked() -> None:
    run = CraftedRun()
    run.guests.clear()
    run.attempts[0] = replace(run.attempts[0], stages=("intent", "confirmed", "spawned", "gone"), outcome="refused")
    run.change_partition(claims=[], used={})
    run.instances[RUNS] = InstanceState(RUNS, "ERROR", 1, None, "claim is over: released")
    assert run.kinds() == {ViolationKind.STOPPED}


@pytest.mark.parametrize(
    ("lost_at", "kinds"), [(2.5, set()), (4.5, set()), (1.0, {ViolationKind.STOPPED}), (9.0, {ViolationKind.STOPPED})]
)
def test_guest_that_stopped_with_the_power_of_its_host(lost_at: float, kinds: set[ViolationKind]) -> None:
    run = CraftedRun()
    run.history.guests += [GuestSighting(2.0, "h1", RUNS, 7, False), GuestSighting(3.0, "h1", RUNS, 7, True)]
    run.history.faults.append({"at": lost_at, "hosts": ["h1"]})
    assert run.kinds() == kinds


def test_guest_that_an_observer_saw_and_no_file_shows() -> None:
    # A1: the original was stopped after a second copy had started; its journal was compacted since
    run = CraftedRun()
    run.history.guests.append(GuestSighting(2.0, "h2", RUNS, 1, False))
    assert run.kinds() == {ViolationKind.STOPPED}


def test_two_guests_at_one_time() -> None:
    run = CraftedRun()
    run.history.guests.append(GuestSighting(2.5, "h1", RUNS, 1, False, ("attempt 2 on h2",)))
    assert run.kinds() == {ViolationKind.DOUBLY_RUNNING}


@pytest.mark.parametrize("host", ["h1", "h2"])
def test_two_guests_after_a_store_forgot_the_fence_of_one(host: str) -> None:
    run = CraftedRun()
    run.history.faults += [{"at": 2.1, "hosts": [host]}, {"at": 2.2, "loses_claims": True}]
    run.history.guests.append(GuestSighting(2.5, "h1", RUNS, 1, False, ("attempt 2 on h2",)))
    assert not run.check().violations
    run.history.guests.append(GuestSighting(200.0, "h1", RUNS, 1, False, ("attempt 2 on h2",)))
    assert run.kinds() == {ViolationKind.DOUBLY_RUNNING}


def test_guest_that_stopped_while_its_list_was_forgotten() -> None:
    run = CraftedRun()
    run.history.guests.append(GuestSighting(2.0, "h1", RUNS, 7, False))
    run.history.operations.append(Operation("list", [RUNS], 8.0, 8.1, CallOutcome.ACKNOWLEDGED))
    run.history.faults.append({"at": 9.0, "forgets_since": 7.0})
    run.history.forget()
    assert run.kinds() == {ViolationKind.STOPPED}


def test_sums_beyond_capacity_at_one_time() -> None:
    run = CraftedRun()
    run.history.uses.append(UseSighting(2.5, "p", "h1/node0", "VCPU", 6, 4))
    assert run.kinds() == {ViolationKind.OVERSOLD}


@pytest.mark.parametrize(
    ("states", "kinds"),
    [
        ([], {ViolationKind.OVERSOLD}),
        (["prepared"], {ViolationKind.OVERSOLD}),
        (["confirmed", "prepared"], {ViolationKind.OVERSOLD}),
        (["confirmed"], set()),
        (["confirmed", "unverified"], set()),
    ],
)
def test_sums_beyond_capacity_that_an_audit_wrote_are_allowed(states: list[str], kinds: set[ViolationKind]) -> None:
    run = CraftedRun()
    run.history.uses.append(UseSighting(2.5, "p", "h1/node0", "VCPU", 6, 4, 3, states))
    assert run.kinds() == kinds


@pytest.mark.parametrize(
    ("host", "is_end_first", "kinds"),
    [("h1", False, {ViolationKind.OVERSOLD}), ("h1", True, set()), ("h2", False, set())],
)
def test_guests_beyond_capacity_at_one_time(host: str, is_end_first: bool, kinds: set[ViolationKind]) -> None:
    # Given a full host, and a third guest that begins there, before or after the second one ends, or elsewhere
    run = CraftedRun()
    run.history.claims.append(write(REFUSED, 1, "prepared", f"{host}/node0"))
    steps = [GuestSighting(4.0, "h1", DELETED, 1, True), GuestSighting(4.0, host, REFUSED, 1, False)]
    run.history.guests += steps if is_end_first else reversed(steps)
    assert run.kinds() - {ViolationKind.STOPPED} == kinds


@pytest.mark.parametrize(("lease_seconds", "kinds"), [(60.0, []), (40.0, [ViolationKind.LEAKED])])
def test_claim_that_is_prepared_for_longer_than_a_lease(lease_seconds: float, kinds: list[ViolationKind]) -> None:
    # Given a store whose time stands still: no deadline passes there
    history = CallHistory(claims=[ClaimSighting(100.0, "p", "late", 1, "prepared", "h1/node0")])
    late = claim("late", state="prepared", deadline_ms=1, allocations={})
    stored = StoredPartition("p", 1, 0, [late], used={late.host: {"claims": 1}})
    report = check(history, FinalState(partitions=[stored], read_at=150.0), lease_seconds)
    assert [item.kind for item in report.violations] == kinds
