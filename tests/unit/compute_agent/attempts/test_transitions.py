# SPDX-License-Identifier: Apache-2.0
"""Guests that are stopped, started, or continue under the identity that their claim has now."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import Stage
from rpcapi.objects.transition import END, RUN, STOP
from tests.unit.compute_agent.rig import AgentRig

OLD, MIGRATION, NEXT = ("a", 1), ("m", 1), ("a", 3)


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
    """Hand the claim over to the migration, and deliver the message that stops its guest."""
    rig.ledger.move(OLD, MIGRATION)
    rig.change(MIGRATION, STOP, OLD, instance="a")
    rig.queue.settle()


def used(rig: AgentRig) -> int:
    assert rig.guest_manager is not None
    return rig.guest_manager.tracker.used("alpha/node0")["VCPU"]


def restart(rig: AgentRig) -> None:
    rig.stop()
    rig.serve()
    rig.queue.settle()


def test_stopped_source_keeps_its_disk_and_resources(running: AgentRig) -> None:
    stop_source(running)
    (guest,) = running.guests().values()
    assert (guest.ref, guest.is_off, used(running)) == (MIGRATION, True, 2)
    report = running.conductor.reports[-1]
    assert (report.uuids, report.instances, report.outcomes) == (["m"], ["a"], ["stopped"])


def test_repeated_stop_is_only_reported_again(running: AgentRig) -> None:
    stop_source(running)
    stop_source(running)
    assert running.conductor.outcomes[MIGRATION] == ["stopped", "stopped"]
    assert list(running.guests()) == [MIGRATION] and used(running) == 2


def test_stopped_guest_stays_off_when_its_agent_restarts(running: AgentRig) -> None:
    stop_source(running)
    restart(running)
    (guest,) = running.guests().values()
    assert guest.ref == MIGRATION and guest.is_off
    assert running.ledger.audits[-1].states == ["confirmed"]
    assert running.ledger.audits[-1].owners[0]["moved_from"] == "a@1"
    assert running.ledger.audits[-1].owners[0]["type"] == "MIGRATION"


def test_reverted_source_runs_again_as_a_new_attempt(running: AgentRig) -> None:
    stop_source(running)
    running.ledger.move(MIGRATION, NEXT)
    running.change(NEXT, RUN, MIGRATION, OLD)
    running.queue.settle()
    (guest,) = running.guests().values()
    assert guest.ref == NEXT and not guest.is_off
    assert running.conductor.outcomes[NEXT] == ["active"] and used(running) == 2


def test_confirmed_source_is_removed_and_its_claim_released(running: AgentRig) -> None:
    stop_source(running)
    running.change(MIGRATION, END, OLD, instance="a")
    running.queue.settle()
    assert running.guests() == {} and running.ledger.live() == {} and used(running) == 0
    assert running.conductor.outcomes[MIGRATION] == ["stopped", "gone"]


def test_end_of_a_migration_that_the_agent_does_not_know_stops_the_guest(running: AgentRig) -> None:
    running.ledger.move(OLD, MIGRATION)
    running.change(MIGRATION, END, OLD, instance="a")
    running.queue.settle()
    assert running.guests() == {} and running.ledger.live() == {}


def test_terminated_former_identity_releases_the_present_one(running: AgentRig) -> None:
    running.ledger.move(OLD, MIGRATION)
    running.terminate(OLD)
    running.queue.settle()
    assert running.guests() == {} and running.ledger.live() == {}


def test_audit_that_answers_moved_renames_the_guest_and_does_not_stop_it(running: AgentRig) -> None:
    running.ledger.move(OLD, MIGRATION)
    running.auditor.audit(running.ledger.epoch)
    running.queue.settle()
    (guest,) = running.guests().values()
    assert guest.ref == MIGRATION and not guest.is_off and used(running) == 2
    # Then the messages that name either identity still apply
    running.change(MIGRATION, STOP, OLD, instance="a")
    running.queue.settle()
    assert running.guests()[MIGRATION].is_off


def test_confirm_that_answers_moved_starts_the_guest_under_the_new_identity(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    rig.ledger.move(OLD, MIGRATION)
    rig.queue.settle()
    assert list(rig.guests()) == [MIGRATION]


def test_claim_of_a_guest_that_the_host_does_not_have_is_released(rig: AgentRig) -> None:
    rig.ledger.prepare("m", 1, "alpha/node0")
    rig.change(MIGRATION, STOP, OLD, instance="a")
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert rig.conductor.outcomes[MIGRATION] == ["gone"]
    assert rig.conductor.reasons[MIGRATION] == "its guest is not on this host"


def test_source_and_destination_of_a_resize_are_on_one_host(running: AgentRig) -> None:
    stop_source(running)
    running.build(running.intent("a", 2))
    running.queue.settle()
    assert {ref: guest.is_off for ref, guest in running.guests().items()} == {MIGRATION: True, ("a", 2): False}
    assert used(running) == 4
    # A revert that arrives before the message that ends the destination: the store has ended its claim
    running.ledger.states[("a", 2)] = "released"
    running.ledger.move(MIGRATION, NEXT)
    running.change(NEXT, RUN, MIGRATION)
    running.queue.settle()
    assert list(running.guests()) == [NEXT] and used(running) == 2


def test_stop_and_start_keep_the_claim(running: AgentRig) -> None:
    running.change(OLD, STOP)
    running.queue.settle()
    assert running.guests()[OLD].is_off and running.ledger.live() == {OLD: "confirmed"}
    running.change(OLD, RUN)
    running.queue.settle()
    assert not running.guests()[OLD].is_off
    assert running.conductor.outcomes[OLD] == ["active", "stopped", "active"]


@pytest.mark.parametrize("action", [STOP, RUN, END])
def test_transition_of_an_ended_attempt_changes_nothing(running: AgentRig, action: str) -> None:
    running.terminate(OLD)
    running.queue.settle()
    running.change(OLD, action)
    running.queue.settle()
    assert running.guests() == {}
    assert running.conductor.outcomes[OLD] == ["active", "gone", "gone"]


def test_file_left_by_a_crash_during_the_rename_is_completed(running: AgentRig) -> None:
    # Given a journal with the new identity and a guest with the former one
    assert running.guest_manager is not None
    journal = running.guest_manager.journal
    attempt = journal.of_instance("a")[0]
    running.ledger.move(OLD, MIGRATION)
    journal.put(attempt.to_moved(attempt.ref._replace(uuid="m"), "a", running.clock.now))
    restart(running)
    assert list(running.guests()) == [MIGRATION]
    assert running.guest_manager.journal.at(Stage.SPAWNED)[0].ref == MIGRATION


def test_guest_that_starts_off_is_made_and_runs_only_by_request(rig: AgentRig) -> None:
    rig.build(replace(rig.intent("a"), starts_off=True))
    rig.queue.settle()
    (guest,) = rig.guests().values()
    assert guest.is_off and rig.conductor.outcomes[OLD] == ["stopped"] and used(rig) == 2
    # It stays off when its message arrives again, and when its agent restarts
    rig.build(replace(rig.intent("a"), starts_off=True))
    restart(rig)
    (guest,) = rig.guests().values()
    assert guest.is_off
    # Once started, it runs again after a restart
    rig.change(OLD, RUN)
    rig.queue.settle()
    restart(rig)
    (guest,) = rig.guests().values()
    assert not guest.is_off and rig.conductor.outcomes[OLD][-1] == "active"


@pytest.mark.parametrize("is_spawned", [False, True])
def test_guest_that_starts_off_stays_off_after_a_crash_while_it_was_made(rig: AgentRig, is_spawned: bool) -> None:
    """Given an agent that died before it journalled the guest, when the next one starts, then the guest is off."""
    intent = replace(rig.intent("a"), starts_off=True)
    assert rig.guest_manager is not None
    rig.guest_manager.add_intents([intent])
    rig.guest_manager.journal.advance([intent.ref], Stage.CONFIRMED)
    if is_spawned:
        rig.guest_manager.hypervisor.spawn(intent.ref, intent.name, is_off=True)
    restart(rig)
    (guest,) = rig.guests().values()
    assert guest.is_off and rig.conductor.outcomes[OLD] == ["stopped"]
