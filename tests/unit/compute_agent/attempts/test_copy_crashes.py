# SPDX-License-Identifier: Apache-2.0
"""Live migrations in which the agent of one end is killed at every step that has an effect."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compute_agent.simulator.profile import HostProfile
from rpcapi.objects.copy import ABORT, DONE, FORCE, POST_COPY, START
from rpcapi.objects.guest import END, RUN
from rpcapi.resources.claims import ClaimRole
from tests.support.agent.rig import AgentKilled, AgentRig, KillSwitch

SOURCE, INCOMING = ("a", 1), ("a", 2)
CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=50.0)
NEVER_CONVERGES = HostProfile(boot_delay=1.0, copy_rate=100.0, dirty_rate=100.0)
Deliver = Callable[[AgentRig], None]


def build(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))


def start(rig: AgentRig) -> None:
    rig.copy(START, 2, destination="beta/node0", post_copy=True)


def abort(rig: AgentRig) -> None:
    rig.copy(ABORT)


def force(rig: AgentRig) -> None:
    rig.copy(FORCE)


def end_source(rig: AgentRig) -> None:
    rig.change(SOURCE, END, ClaimRole.SOURCE)


def move_back(rig: AgentRig) -> None:
    rig.change(SOURCE, RUN, ClaimRole.ONLY, 3)


def receive(rig: AgentRig) -> None:
    rig.receive(rig.intent(*INCOMING))


def run(rig: AgentRig) -> None:
    rig.change(INCOMING, RUN)


def give_up(rig: AgentRig) -> None:
    rig.change(INCOMING, END)


SCENARIOS: dict[str, tuple[HostProfile, list[Deliver]]] = {
    "copy": (CONVERGES, [build, start]),
    "copy and end": (CONVERGES, [build, start, end_source]),
    "copy and move back": (CONVERGES, [build, start, move_back]),
    "abort": (NEVER_CONVERGES, [build, start, abort, move_back]),
    "post-copy": (NEVER_CONVERGES, [build, start, force]),
    "post-copy and end": (NEVER_CONVERGES, [build, start, force, end_source]),
    "receive": (CONVERGES, [receive]),
    "receive and run": (CONVERGES, [receive, run]),
    "receive and give up": (CONVERGES, [receive, give_up]),
}


def play(rig: AgentRig, deliveries: list[Deliver], kill_switch: KillSwitch) -> int:
    """Deliver all messages to an agent with ``kill_switch``; return how many were delivered before it was killed."""
    delivered = 0
    try:
        rig.serve(kill_switch)
        for deliver in deliveries:
            delivered += 1
            deliver(rig)
            rig.queue.settle()
    except AgentKilled:
        pass
    finally:
        rig.stop()
    return delivered


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_step(name: str, tmp_path: Path) -> None:
    profile, deliveries = SCENARIOS[name]
    whole, kill_switch = AgentRig(tmp_path / "whole", profile), KillSwitch()
    play(whole, deliveries, kill_switch)
    assert kill_switch.steps > 8
    for at in range(1, kill_switch.steps + 1):
        rig = AgentRig(tmp_path / f"killed-{at}", profile)
        delivered = play(rig, deliveries, KillSwitch(at))
        rig.serve()
        rig.queue.settle()
        check(rig, f"{name}, killed at step {at}, after the restart")
        for deliver in deliveries[max(0, delivered - 1) :]:
            deliver(rig)
            rig.queue.settle()
        check(rig, f"{name}, killed at step {at}")
        check_end(rig, deliveries, f"{name}, killed at step {at}")
        rig.stop()


def running(rig: AgentRig) -> set[tuple[str, int]]:
    return {ref for ref, guest in rig.guests().items() if not guest.is_off and not guest.is_paused}


def phases(rig: AgentRig) -> set[str]:
    """Return the phases of the copy that were reported."""
    return {copy["phase"] for report in rig.conductor.reports for copy in report.copies if copy}


def check(rig: AgentRig, when: str) -> None:
    confirmed = {ref for ref, state in rig.ledger.live().items() if state == "confirmed"}
    assert set(rig.guests()) <= confirmed, f"{when}: a guest exists only under a confirmed claim"
    assert rig.guest_manager is not None
    is_back = any(attempt.transition == 3 for attempt in rig.guest_manager.journal.of_instance("a"))
    if phases(rig) & {DONE, POST_COPY} and not is_back:
        assert SOURCE not in running(rig), f"{when}: the guest may run at its destination, and must not run here"
    assert {attempt.ref for attempt in rig.guest_manager.journal.live()} == confirmed, when


def check_end(rig: AgentRig, deliveries: list[Deliver], when: str) -> None:
    last = deliveries[-1]
    if last in (end_source, give_up):
        assert rig.ledger.live() == {} and rig.guests() == {}, when
    elif last is move_back:
        assert running(rig) == {SOURCE}, when
        assert rig.conductor.last(SOURCE) == "active", when
    elif last is run:
        arrived = rig.conductor.last(INCOMING) == "active"
        assert running(rig) == ({INCOMING} if arrived else set()), when
        assert arrived or rig.conductor.last(INCOMING) == "failed", when
    elif last is receive:
        assert running(rig) == set(), when
        assert rig.conductor.last(INCOMING) in ("incoming", "failed"), when
    else:
        is_running = rig.conductor.last(SOURCE) == "active"
        assert running(rig) == ({SOURCE} if is_running else set()), when
        assert phases(rig) & {DONE, "failed"}, f"{when}: the copy has an end"
