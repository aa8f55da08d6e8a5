# SPDX-License-Identifier: Apache-2.0
"""Guests that are stopped or started, also as ends of a move."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.saga import REMIND_MS
from rpcapi.objects.guest import END, RUN, STOP
from rpcapi.resources.claims import ClaimRole
from tests.support.agent.rig import AgentRig

REF, NEXT = ("a", 1), ("a", 2)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    yield rig
    rig.stop()


@pytest.fixture
def running(rig: AgentRig) -> AgentRig:
    """An agent with the guest of instance a."""
    rig.build(rig.intent("a"))
    rig.queue.settle()
    return rig


def stop_source(rig: AgentRig) -> None:
    """Deliver the message that stops the guest to move."""
    rig.change(REF, STOP, ClaimRole.SOURCE)
    rig.queue.settle()


def lose_before_creation(rig: AgentRig) -> GuestManager:
    """Lose the guest, which the saga is to create again."""
    manager = rig.guest_manager
    assert manager is not None
    manager.hypervisor.stop(AttemptRef(*REF))
    manager.journal.advance([AttemptRef(*REF)], Stage.CONFIRMED)
    return manager


def used(rig: AgentRig) -> int:
    assert rig.guest_manager is not None
    return rig.guest_manager.tracker.used("alpha/node0")["VCPU"]


def restart(rig: AgentRig) -> None:
    rig.stop()
    rig.serve()
    rig.queue.settle()


def owner(rig: AgentRig) -> tuple[str | None, str | None]:
    """Return role and migration of the first claim in the last audit."""
    reported = rig.ledger.audits[-1].owners[0]
    return reported.get("role"), reported.get("migration")


def test_stopped_source_keeps_its_identity_its_disk_and_its_resources(running: AgentRig) -> None:
    stop_source(running)
    (guest,) = running.guests().values()
    assert (guest.ref, guest.is_off, used(running)) == (REF, True, 2)
    report = running.conductor.reports[-1]
    assert (report.uuids, report.attempts, report.outcomes, report.transitions) == (["a"], [1], ["stopped"], [2])


def test_repeated_stop_is_only_reported_again(running: AgentRig) -> None:
    stop_source(running)
    stop_source(running)
    assert running.conductor.outcomes[REF] == ["active", "stopped", "stopped"]
    assert list(running.guests()) == [REF] and used(running) == 2


def test_stopped_source_is_reported_with_its_role_after_a_restart(running: AgentRig) -> None:
    stop_source(running)
    restart(running)
    (guest,) = running.guests().values()
    assert guest.ref == REF and guest.is_off
    assert running.ledger.audits[-1].states == ["confirmed"] and owner(running) == ("source", "m")


def test_reverted_source_runs_again(running: AgentRig) -> None:
    stop_source(running)
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    running.queue.settle()
    (guest,) = running.guests().values()
    assert guest.ref == REF and not guest.is_off
    assert running.conductor.outcomes[REF] == ["active", "stopped", "active"] and used(running) == 2
    assert [report.transitions for report in running.conductor.reports] == [[], [2], [3]]
    restart(running)
    assert owner(running) == (None, None)


@pytest.mark.parametrize("action", [STOP, END])
@pytest.mark.parametrize("is_compacted", [False, True])
def test_late_message_about_a_move_that_is_over_changes_nothing(
    running: AgentRig, action: str, is_compacted: bool
) -> None:
    # Given a guest that came back from its move
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    running.queue.settle()
    if is_compacted:
        running.clock.now += 24 * 3600_000
        restart(running)
    # When an earlier message about that move arrives
    running.change(REF, action, ClaimRole.SOURCE, 2)
    running.queue.settle()
    # Then it runs on, under its claim
    assert not running.guests()[REF].is_off and running.ledger.live() == {REF: "confirmed"}


def test_late_build_or_end_of_a_destination_here_leaves_the_guest_that_came_back(running: AgentRig) -> None:
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    running.queue.settle()
    running.build(replace(running.intent("a", 2), role=ClaimRole.DESTINATION, migration="m"))
    running.terminate(NEXT)
    running.queue.settle()
    assert list(running.guests()) == [REF] and running.ledger.live() == {REF: "confirmed"}


def test_confirmed_source_is_removed_and_its_claim_released(running: AgentRig) -> None:
    stop_source(running)
    running.change(REF, END, ClaimRole.SOURCE)
    running.queue.settle()
    assert running.guests() == {} and running.ledger.live() == {} and used(running) == 0
    assert running.conductor.outcomes[REF] == ["active", "stopped", "gone"]


def test_guest_that_has_followed_a_later_message_is_not_ended(running: AgentRig) -> None:
    running.change(REF, STOP, number=3)
    running.change(REF, END, number=2)
    running.queue.settle()
    assert running.guests()[REF].is_off and running.ledger.live() == {REF: "confirmed"}
    assert running.conductor.reports[-1].transitions == [3]


def test_guest_that_has_followed_a_message_is_reported_again_at_intervals(running: AgentRig) -> None:
    # Given a source that was stopped, and its report
    stop_source(running)
    assert running.conductor.reports[-1].migrations == ["m"]
    reports = len(running.conductor.reports)

    def report_after(ms: int) -> int:
        running.clock.now += ms
        running.host.reports._report()
        running.queue.settle()
        return len(running.conductor.reports) - reports

    # Then it is reported again every five minutes, with its move until it runs, also by a new agent
    assert report_after(REMIND_MS // 2) == 0
    assert report_after(REMIND_MS // 2) == 1
    assert report_after(REMIND_MS // 2) == 1
    restart(running)
    assert report_after(REMIND_MS) == 2
    assert running.conductor.reports[-1].migrations == ["m"]
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    assert report_after(REMIND_MS) == 3
    assert report_after(2 * REMIND_MS) == 4
    assert running.conductor.reports[-1].migrations == []


def test_guest_that_was_only_built_is_reported_once(running: AgentRig) -> None:
    reports = len(running.conductor.reports)
    running.clock.now += 2 * REMIND_MS
    running.host.reports._report()
    running.queue.settle()
    assert len(running.conductor.reports) == reports


def test_guest_that_was_off_before_is_not_off_for_its_move(running: AgentRig) -> None:
    running.change(REF, STOP)
    stop_source(running)
    assert [report.migrations for report in running.conductor.reports] == [[], []]


def test_message_about_power_makes_the_claim_the_only_one(running: AgentRig) -> None:
    stop_source(running)
    running.change(REF, RUN, number=3)
    running.queue.settle()
    restart(running)
    assert owner(running) == (None, None)


@pytest.mark.parametrize("action", [RUN, STOP])
def test_message_outside_a_move_does_not_reuse_the_number_of_the_move(running: AgentRig, action: str) -> None:
    # Given a conductor whose store has lost the move, and which issues its number again
    stop_source(running)
    running.change(REF, action)
    running.queue.settle()
    assert running.guests()[REF].is_off
    assert running.conductor.reports[-1].migrations == ["m"]
    restart(running)
    assert owner(running) == ("source", "m")


@pytest.mark.parametrize("role", [ClaimRole.ONLY, ClaimRole.SOURCE])
def test_return_of_an_earlier_move_does_not_start_a_guest_stopped_for_a_later_one(
    running: AgentRig, role: ClaimRole
) -> None:
    # Given a conductor whose store has lost the later move, and whose numbers exceed those that it gave
    stop_source(running)
    running.change(REF, RUN, role, number=9, migration="earlier")
    running.queue.settle()
    assert running.guests()[REF].is_off
    # Then the report answers that message
    report = running.conductor.reports[-1]
    assert (report.migrations, report.transitions) == (["m"], [9])
    restart(running)
    assert owner(running) == ("source", "m")


def test_claim_of_a_guest_that_the_host_does_not_have_is_released(rig: AgentRig) -> None:
    rig.ledger.prepare("a", 1, "alpha/node0")
    rig.change(REF, STOP, ClaimRole.SOURCE)
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert rig.conductor.outcomes[REF] == ["gone"]
    assert rig.conductor.reasons[REF] == "its guest is not on this host"


@pytest.mark.parametrize("role", [None, ClaimRole.SOURCE], ids=["by request", "for a move"])
def test_guest_that_is_stopped_before_its_creation_has_a_disk(running: AgentRig, role: ClaimRole | None) -> None:
    lose_before_creation(running)
    # When it is to be stopped
    running.change(REF, STOP, role)
    running.queue.settle()
    # Then it is created powered off
    assert running.guests()[REF].is_off
    assert running.conductor.outcomes[REF][-1] == "stopped"
    # and can be started
    running.change(REF, RUN, ClaimRole.ONLY, number=5)
    running.queue.settle()
    assert not running.guests()[REF].is_off


def test_start_overrides_a_stop_before_the_creation(running: AgentRig) -> None:
    lose_before_creation(running)
    running.change(REF, STOP)
    running.change(REF, RUN, ClaimRole.ONLY, number=5)
    running.queue.settle()
    assert not running.guests()[REF].is_off


def test_source_and_destination_of_a_resize_are_on_one_host(running: AgentRig) -> None:
    stop_source(running)
    running.build(replace(running.intent("a", 2), role=ClaimRole.DESTINATION, migration="m"))
    running.queue.settle()
    assert {ref: guest.is_off for ref, guest in running.guests().items()} == {REF: True, NEXT: False}
    assert used(running) == 4
    restart(running)
    assert set(running.guests()) == {REF, NEXT} and used(running) == 4
    # A revert that arrives before the message that ends the destination starts nothing beside it
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    running.queue.run()
    assert {ref: guest.is_off for ref, guest in running.guests().items()} == {REF: True, NEXT: False}


def test_source_is_kept_when_its_destination_on_the_same_host_is_terminated(running: AgentRig) -> None:
    stop_source(running)
    running.build(replace(running.intent("a", 2), role=ClaimRole.DESTINATION, migration="m"))
    running.queue.settle()
    running.terminate(NEXT)
    running.queue.settle()
    assert {ref: guest.is_off for ref, guest in running.guests().items()} == {REF: True}
    running.change(REF, RUN, ClaimRole.ONLY, 3)
    running.queue.settle()
    assert not running.guests()[REF].is_off


def test_stop_and_start_keep_the_claim(running: AgentRig) -> None:
    running.change(REF, STOP)
    running.queue.settle()
    assert running.guests()[REF].is_off and running.ledger.live() == {REF: "confirmed"}
    running.change(REF, RUN)
    running.queue.settle()
    assert not running.guests()[REF].is_off
    assert running.conductor.outcomes[REF] == ["active", "stopped", "active"]


@pytest.mark.parametrize("action", [STOP, RUN, END])
def test_transition_of_an_ended_attempt_changes_nothing(running: AgentRig, action: str) -> None:
    running.terminate(REF)
    running.queue.settle()
    running.change(REF, action)
    running.queue.settle()
    assert running.guests() == {}
    assert running.conductor.outcomes[REF] == ["active", "gone", "gone"]


def test_guest_that_starts_off_is_made_and_runs_only_by_request(rig: AgentRig) -> None:
    rig.build(replace(rig.intent("a"), starts_off=True))
    rig.queue.settle()
    (guest,) = rig.guests().values()
    assert guest.is_off and rig.conductor.outcomes[REF] == ["stopped"] and used(rig) == 2
    # It stays off when its message arrives again, and when its agent restarts
    rig.build(replace(rig.intent("a"), starts_off=True))
    restart(rig)
    (guest,) = rig.guests().values()
    assert guest.is_off
    # Once started, it runs again after a restart
    rig.change(REF, RUN)
    rig.queue.settle()
    restart(rig)
    (guest,) = rig.guests().values()
    assert not guest.is_off and rig.conductor.outcomes[REF][-1] == "active"


@pytest.mark.parametrize("is_spawned", [False, True])
def test_guest_that_starts_off_stays_off_after_a_crash_while_it_was_made(rig: AgentRig, is_spawned: bool) -> None:
    """Given an agent that died before it journalled the guest, when the next one starts, then the guest is off."""
    intent = replace(rig.intent("a"), starts_off=True)
    assert rig.guest_manager is not None
    rig.guest_manager.hold(intent)
    rig.guest_manager.journal.put([intent])
    rig.guest_manager.journal.advance([intent.ref], Stage.CONFIRMED)
    if is_spawned:
        rig.guest_manager.hypervisor.spawn(intent.ref, intent.name, is_off=True)
    restart(rig)
    (guest,) = rig.guests().values()
    assert guest.is_off and rig.conductor.outcomes[REF] == ["stopped"]


@pytest.mark.parametrize("role", [None, ClaimRole.SOURCE], ids=["by request", "for a move"])
def test_guest_that_is_stopped_before_its_creation_is_off_for_its_move(
    running: AgentRig, role: ClaimRole | None
) -> None:
    manager = lose_before_creation(running)
    running.change(REF, STOP, role)
    running.queue.settle()
    attempt = manager.journal.get(AttemptRef(*REF))
    assert attempt is not None
    assert attempt.stopped_for == (attempt.migration if role else "")
    assert bool(attempt.migration) == bool(role)
