# SPDX-License-Identifier: Apache-2.0
"""Copies of running guests: each message takes effect once, and the guest runs on at most one host."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.resources.nodes import Node
from compute_agent.simulator.profile import HostProfile
from rpcapi.objects.copy import ABORT, FORCE, START
from rpcapi.objects.guest import CONTINUE, END, RUN, STOP
from rpcapi.resources.claims import ClaimRole
from rpcapi.resources.inventory import Inventory
from tests.support.agent.rig import SHAPE, AgentRig

SOURCE = ("a", 1)
INCOMING = ("a", 2)
CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0, copy_downtime=0.5)
NEVER_CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=100.0)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    """An agent with the guest of instance a."""
    rig = AgentRig(tmp_path, CONVERGES)
    rig.serve()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    yield rig
    rig.stop()


def send(rig: AgentRig, action: str, number: int = 2, *, post_copy: bool = False, with_disk: bool = False) -> None:
    rig.copy(action, number, destination="beta/node0", post_copy=post_copy, with_disk=with_disk)
    rig.queue.run()


def last_report(rig: AgentRig) -> tuple[str, dict[str, object] | None, str]:
    report = rig.conductor.reports[-1]
    assert (report.uuids, report.attempts) == (["a"], [1])
    return report.outcomes[0], report.copies[0], report.reasons[0]


def restart(rig: AgentRig) -> None:
    rig.stop()
    rig.serve()
    rig.queue.settle()


def is_running(rig: AgentRig, ref: tuple[str, int] = SOURCE) -> bool:
    guest = rig.guests().get(ref)
    return guest is not None and not guest.is_off and not guest.is_paused


# -- source ------------------------------------------------------------------------------------------------------------


def test_guest_runs_while_it_is_copied_and_is_stopped_when_the_copy_is_complete(rig: AgentRig) -> None:
    send(rig, START)
    assert is_running(rig)
    assert last_report(rig) == ("active", {"number": 2, "phase": "running"}, "")
    rig.queue.settle()
    assert last_report(rig) == ("stopped", {"number": 2, "phase": "done"}, "")
    assert not is_running(rig)
    assert rig.ledger.live() == {SOURCE: "confirmed"}


@pytest.mark.parametrize(("with_disk", "seconds"), [(False, 19.98), (True, 19.98 + 10.24)])
def test_disk_is_copied_by_request(tmp_path: Path, with_disk: bool, seconds: float) -> None:
    rig = AgentRig(tmp_path, CONVERGES)
    shape = replace(SHAPE, inventories={**SHAPE.inventories, "DISK_GB": Inventory(10)})
    rig.nodes = (Node("alpha/node0", shape, "zone1"),)
    rig.serve()
    rig.build(rig.intent("a", VCPU=2, MEMORY_MB=1024, DISK_GB=1))
    rig.queue.settle()
    started_ms = rig.clock.now
    send(rig, START, with_disk=with_disk)
    rig.queue.settle()
    assert rig.clock.now - started_ms == round(1000 * seconds)
    rig.stop()


@pytest.mark.parametrize("number", [2, 1])
def test_repeated_or_late_start_is_only_reported_again(rig: AgentRig, number: int) -> None:
    send(rig, START)
    rig.queue.settle()
    before = rig.guests()
    send(rig, START, number)
    rig.queue.settle()
    assert rig.guests() == before
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "done"})


def test_aborted_copy_leaves_the_guest_running(rig: AgentRig) -> None:
    send(rig, START)
    send(rig, ABORT)
    assert last_report(rig) == ("active", {"number": 2, "phase": "failed"}, "aborted by request")
    rig.queue.settle()
    assert is_running(rig)
    assert rig.queue.waiting() == 0


def test_abort_that_arrives_before_the_start_prevents_the_copy(rig: AgentRig) -> None:
    send(rig, ABORT)
    send(rig, START)
    rig.queue.settle()
    assert last_report(rig)[:2] == ("active", {"number": 2, "phase": "failed"})
    assert is_running(rig)


def test_next_copy_begins_after_a_failed_one(rig: AgentRig) -> None:
    send(rig, START)
    send(rig, ABORT)
    send(rig, START, 3)
    rig.queue.settle()
    assert last_report(rig)[:2] == ("stopped", {"number": 3, "phase": "done"})


@pytest.mark.parametrize("action", [ABORT, FORCE])
def test_message_about_a_complete_copy_is_only_reported_again(rig: AgentRig, action: str) -> None:
    send(rig, START)
    rig.queue.settle()
    before = rig.guests()
    send(rig, action)
    assert rig.guests() == before
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "done"})


@pytest.mark.parametrize("action", [ABORT, FORCE])
def test_late_message_does_not_touch_a_later_copy(rig: AgentRig, action: str) -> None:
    rig.profile = NEVER_CONVERGES
    send(rig, START, 3)
    send(rig, action, 2)
    rig.queue.settle()
    assert is_running(rig)
    assert last_report(rig)[:2] == ("active", {"number": 3, "phase": "running"})


def test_copy_of_a_guest_that_writes_too_fast_is_complete_when_it_is_forced(rig: AgentRig) -> None:
    rig.profile = NEVER_CONVERGES
    send(rig, START)
    rig.queue.settle()
    assert is_running(rig)
    started_ms = rig.clock.now
    send(rig, FORCE)
    send(rig, FORCE)
    rig.queue.settle()
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "done"})
    assert rig.clock.now - started_ms == 10_240  # 1024 MiB at 100 MiB/s


def test_forced_copy_with_post_copy_stops_the_guest_before_its_memory_is_copied(rig: AgentRig) -> None:
    rig.profile = NEVER_CONVERGES
    send(rig, START, post_copy=True)
    send(rig, FORCE)
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "post-copy"})
    assert not is_running(rig)
    send(rig, ABORT)
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "post-copy"}), "it cannot be aborted any more"
    rig.queue.settle()
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "done"})


def test_restart_of_the_agent_fails_the_copy_and_the_guest_runs_on(rig: AgentRig) -> None:
    send(rig, START)
    restart(rig)
    assert last_report(rig) == (
        "active",
        {"number": 2, "phase": "failed"},
        "the agent of its source was restarted during the copy",
    )
    assert is_running(rig)
    send(rig, START)
    rig.queue.settle()
    assert is_running(rig), "the number is used up"
    assert rig.ledger.live() == {SOURCE: "confirmed"}


def test_restart_of_the_agent_during_post_copy_loses_the_guest(rig: AgentRig) -> None:
    rig.profile = NEVER_CONVERGES
    send(rig, START, post_copy=True)
    send(rig, FORCE)
    restart(rig)
    assert last_report(rig)[:2] == ("stopped", {"number": 2, "phase": "failed"})
    assert not is_running(rig)


def test_restart_of_the_agent_keeps_a_copied_guest_stopped(rig: AgentRig) -> None:
    send(rig, START)
    rig.queue.settle()
    restart(rig)
    assert not is_running(rig)
    guest = rig.guests()[SOURCE]
    assert guest.is_paused and not guest.is_off, "its memory is kept until the migration ends"


def test_copied_guest_continues_at_its_source_without_a_boot(rig: AgentRig) -> None:
    booted_ms = rig.guests()["a", 1].running_at_ms
    send(rig, START)
    rig.queue.settle()
    rig.change(SOURCE, CONTINUE, ClaimRole.ONLY, 3)
    rig.queue.settle()
    assert is_running(rig)
    assert rig.guests()[SOURCE].running_at_ms == booted_ms
    assert rig.conductor.last(SOURCE) == "active"
    assert rig.ledger.live() == {SOURCE: "confirmed"}


def test_copied_guest_boots_at_its_source_unless_it_is_to_continue(rig: AgentRig) -> None:
    send(rig, START)
    rig.queue.settle()
    paused = rig.guests()[SOURCE]
    rig.change(SOURCE, RUN, ClaimRole.ONLY, 3)
    rig.queue.settle()
    assert paused.is_paused
    assert rig.guests()[SOURCE].running_at_ms > paused.running_at_ms


def test_copy_ends_when_the_move_does(rig: AgentRig) -> None:
    rig.profile = NEVER_CONVERGES
    send(rig, START)
    rig.change(SOURCE, RUN, ClaimRole.ONLY, 3)
    rig.queue.settle()
    assert is_running(rig)
    assert rig.guest_manager is not None and rig.guest_manager.hypervisor.copies == {}
    assert rig.conductor.reports[-1].copies == []


@pytest.mark.parametrize("is_compacted", [False, True])
def test_late_start_of_a_move_that_is_over_copies_nothing(rig: AgentRig, is_compacted: bool) -> None:
    # Given a guest that came back before the message about its copy arrived
    rig.change(SOURCE, RUN, ClaimRole.ONLY, 3)
    rig.queue.settle()
    if is_compacted:
        rig.clock.now += 24 * 3600_000
        restart(rig)
    # When that arrives, Then the guest runs on, and is not copied
    send(rig, START)
    rig.queue.settle()
    assert is_running(rig) and rig.ledger.live() == {SOURCE: "confirmed"}
    assert rig.conductor.reports[-1].copies == []


def test_copied_guest_is_removed_when_the_migration_is_complete(rig: AgentRig) -> None:
    send(rig, START)
    rig.queue.settle()
    rig.change(SOURCE, END, ClaimRole.SOURCE)
    rig.queue.settle()
    assert rig.guests() == {} and rig.ledger.live() == {}
    assert rig.conductor.last(SOURCE) == "gone"


def test_stopped_guest_is_not_copied(rig: AgentRig) -> None:
    rig.change(SOURCE, STOP, ClaimRole.SOURCE)
    rig.queue.settle()
    send(rig, START)
    assert last_report(rig) == ("stopped", {"number": 2, "phase": "failed"}, "its guest is not running")


def test_guest_that_is_stopped_during_the_copy_fails_it(rig: AgentRig) -> None:
    send(rig, START)
    rig.change(SOURCE, STOP, ClaimRole.SOURCE)
    rig.queue.settle()
    assert last_report(rig) == ("stopped", {"number": 2, "phase": "failed"}, "its guest was stopped during the copy")


def test_copy_of_an_unknown_guest_releases_its_claim(tmp_path: Path) -> None:
    rig = AgentRig(tmp_path, CONVERGES)
    rig.serve()
    rig.ledger.prepare("a", 1, "alpha/node0")
    rig.ledger.states[SOURCE] = "confirmed"
    send(rig, START)
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert rig.conductor.last(SOURCE) == "gone"
    rig.stop()


def test_simulated_failure_leaves_the_guest_running(rig: AgentRig) -> None:
    rig.profile = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0, copy_failure_rate=1.0)
    send(rig, START)
    rig.queue.settle()
    assert last_report(rig) == ("active", {"number": 2, "phase": "failed"}, "simulated copy failure")
    assert is_running(rig)


def test_simulated_death_of_the_host_reports_nothing_more(rig: AgentRig) -> None:
    rig.profile = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0, copy_death_rate=1.0)
    send(rig, START)
    reports = len(rig.conductor.reports)
    rig.queue.fire()
    assert rig.deaths == 1
    assert len(rig.conductor.reports) == reports


# -- destination -------------------------------------------------------------------------------------------------------


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path, CONVERGES)
    rig.serve()
    rig.receive(rig.intent(*INCOMING))
    rig.queue.settle()
    yield rig
    rig.stop()


def test_incoming_guest_is_paused_under_a_confirmed_claim(destination: AgentRig) -> None:
    assert destination.guests()[INCOMING].is_paused
    assert destination.ledger.live() == {INCOMING: "confirmed"}
    assert destination.conductor.last(INCOMING) == "incoming"


def test_incoming_guest_continues_by_request(destination: AgentRig) -> None:
    arrived_ms = destination.guests()[INCOMING].running_at_ms
    destination.change(INCOMING, RUN)
    destination.queue.settle()
    assert is_running(destination, INCOMING)
    assert destination.guests()[INCOMING].running_at_ms == arrived_ms, "it does not boot"
    assert destination.conductor.last(INCOMING) == "active"


def test_incoming_guest_is_audited_as_confirmed(destination: AgentRig) -> None:
    destination.auditor.audit(8)
    report = destination.ledger.audits[-1]
    assert (report.consumers, report.attempts, report.states) == (["a"], [2], ["confirmed"])


def test_incoming_guest_survives_a_restart_of_the_agent(destination: AgentRig) -> None:
    before = destination.guests()
    restart(destination)
    assert destination.guests() == before and before[INCOMING].is_paused
    assert destination.ledger.live() == {INCOMING: "confirmed"}
    destination.change(INCOMING, RUN)
    destination.queue.settle()
    assert is_running(destination, INCOMING)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_incoming_guest_that_is_lost_with_its_host_fails(destination: AgentRig, is_damaged: bool) -> None:
    destination.stop()
    (file,) = (destination.folder / "guests").glob("*.json")
    if is_damaged:
        file.write_text("{")
    else:
        file.unlink()
    destination.serve()
    destination.queue.settle()
    assert destination.guests() == {} and destination.ledger.live() == {}
    assert destination.conductor.last(INCOMING) == "failed"
    destination.change(INCOMING, RUN)
    destination.queue.settle()
    assert destination.guests() == {}
    assert destination.conductor.last(INCOMING) == "failed"


def test_restart_of_the_agent_after_the_guest_continued_starts_it_again(destination: AgentRig) -> None:
    destination.change(INCOMING, RUN)
    destination.queue.settle()
    restart(destination)
    assert is_running(destination, INCOMING)


def test_repeated_request_prepares_the_guest_once(destination: AgentRig) -> None:
    before = destination.guests()
    destination.receive(destination.intent(*INCOMING))
    destination.queue.settle()
    assert destination.guests() == before
    assert destination.conductor.outcomes[INCOMING] == ["incoming", "incoming"]


@pytest.mark.parametrize("action", [STOP, END])
def test_incoming_guest_that_is_given_up(destination: AgentRig, action: str) -> None:
    destination.change(INCOMING, action)
    destination.queue.settle()
    is_kept = action == STOP  # it does not run yet
    assert (INCOMING in destination.guests()) == is_kept
    assert (INCOMING in destination.ledger.live()) == is_kept
    assert destination.conductor.outcomes[INCOMING] == (["incoming"] if is_kept else ["incoming", "failed"])


def test_guest_that_does_not_fit_is_refused(destination: AgentRig) -> None:
    destination.receive(destination.intent("b", VCPU=8, MEMORY_MB=512))
    destination.queue.settle()
    assert destination.conductor.last(("b", 1)) == "refused"
    assert "VCPU" in destination.conductor.reasons["b", 1]


def test_host_that_has_the_instance_refuses_to_receive_it(rig: AgentRig) -> None:
    rig.receive(rig.intent("a", 2, node=1))
    rig.queue.settle()
    assert rig.conductor.last(INCOMING) == "refused"
    assert rig.conductor.reasons[INCOMING] == "the instance is already on host alpha"
    assert is_running(rig, ("a", 1)), "the guest at the source is untouched"


def test_simulated_failure_after_the_migration_ends_the_attempt(destination: AgentRig) -> None:
    destination.profile = HostProfile(post_migration_failure_rate=1.0)
    destination.change(INCOMING, RUN)
    destination.queue.settle()
    assert destination.guests() == {} and destination.ledger.live() == {}
    assert destination.conductor.last(INCOMING) == "failed"
