# SPDX-License-Identifier: Apache-2.0
"""Guests that are rebooted and rebuilt: each operation changes the guest once, also across restarts of the agent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi.objects.guest import REBOOT, REBUILD, STOP
from rpcapi.resources.claims import ClaimRole
from tests.support.agent.rig import AgentRig

REF = ("a", 1)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[AgentRig]:
    """An agent with the guest of instance a."""
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    yield rig
    rig.stop()


def operate(rig: AgentRig, action: str, number: int) -> None:
    rig.clock.now += 10_000
    rig.operate(REF, action, number)
    rig.queue.settle()


def last_report(rig: AgentRig) -> tuple[list[str], list[int]]:
    return rig.conductor.reports[-1].outcomes, rig.conductor.reports[-1].operations


@pytest.mark.parametrize("action", [REBOOT, REBUILD])
def test_guest_boots_again_under_its_claim(running: AgentRig, action: str) -> None:
    booted_ms = running.guests()[REF].running_at_ms
    operate(running, action, 7)
    guest = running.guests()[REF]
    assert guest.running_at_ms > booted_ms and not guest.is_off
    assert guest.disk == (7 if action == REBUILD else 0)
    assert running.ledger.live() == {REF: "confirmed"}
    assert last_report(running) == (["active"], [7])


@pytest.mark.parametrize("action", [REBOOT, REBUILD])
def test_guest_that_is_off_for_a_move_stays_as_it_is(running: AgentRig, action: str) -> None:
    # Given a conductor whose store has lost the move
    running.change(REF, STOP, ClaimRole.SOURCE)
    running.queue.settle()
    before = running.guests()
    operate(running, action, 7)
    assert running.guests() == before
    assert before[REF].is_off
    assert running.conductor.reports[-1].migrations == ["m"]


@pytest.mark.parametrize("number", [7, 6])
@pytest.mark.parametrize("action", [REBOOT, REBUILD])
def test_repeated_or_late_message_is_only_reported_again(running: AgentRig, action: str, number: int) -> None:
    operate(running, REBOOT, 7)
    before = running.guests()
    operate(running, action, number)
    assert running.guests() == before
    assert last_report(running) == (["active"], [7])


def test_message_that_an_earlier_agent_executed_is_only_reported_again(running: AgentRig) -> None:
    operate(running, REBUILD, 7)
    before = running.guests()
    running.stop()
    running.serve()
    operate(running, REBUILD, 7)
    assert running.guests() == before
    assert last_report(running) == (["active"], [7])


def test_rebuild_from_another_image_is_kept_by_later_rebuilds_and_a_restart(running: AgentRig) -> None:
    assert running.guests()[REF].image == ""
    running.operate(REF, REBUILD, 7, "i2")
    running.queue.settle()
    assert (running.guests()[REF].image, running.guests()[REF].disk) == ("i2", 7)
    operate(running, REBUILD, 8)
    running.stop()
    running.serve()
    assert (running.guests()[REF].image, running.guests()[REF].disk) == ("i2", 8)
    # A repeated message does not bring an earlier image back
    running.operate(REF, REBUILD, 8, "i1")
    running.queue.settle()
    assert running.guests()[REF].image == "i2"


def test_rebuilt_guest_that_was_stopped_stays_off(running: AgentRig) -> None:
    running.change(REF, STOP)
    running.queue.settle()
    operate(running, REBUILD, 7)
    guest = running.guests()[REF]
    assert guest.is_off and guest.disk == 7
    assert last_report(running) == (["stopped"], [7])


def test_reboot_starts_a_stopped_guest(running: AgentRig) -> None:
    running.change(REF, STOP)
    running.queue.settle()
    operate(running, REBOOT, 7)
    assert not running.guests()[REF].is_off
    assert last_report(running) == (["active"], [7])


def test_operation_on_an_ended_attempt_is_reported_as_its_end(running: AgentRig) -> None:
    running.terminate(REF)
    running.queue.settle()
    operate(running, REBOOT, 7)
    assert running.guests() == {}
    assert running.conductor.outcomes[REF] == ["active", "gone", "gone"]


def test_operation_on_an_unknown_guest_releases_its_claim(running: AgentRig) -> None:
    running.ledger.prepare("b", 1, "alpha/node0")
    running.operate(("b", 1), REBOOT, 7)
    running.queue.settle()
    assert running.ledger.live() == {REF: "confirmed"}
    assert running.conductor.reasons["b", 1] == "its guest is not on this host"


def test_operation_before_the_claim_is_confirmed_is_left_to_a_repeated_message(running: AgentRig) -> None:
    running.build(running.intent("b"))
    running.operate(("b", 1), REBUILD, 7)
    running.queue.settle()
    assert running.guests()["b", 1].disk == 0
    assert last_report(running) == (["active"], [])
