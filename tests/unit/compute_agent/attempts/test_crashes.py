# SPDX-License-Identifier: Apache-2.0
"""The agent is killed at every step that has an effect, and the next agent on the same folder recovers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compute_agent.attempt import Stage
from rpcapi.objects.guest import END, REBOOT, REBUILD, RUN, STOP
from rpcapi.resources.claims import ClaimRole
from tests.support.agent.rig import AgentKilled, AgentRig, KillSwitch, ScriptedProfile
from tests.support.stride import offset

INSTANCES = ["a", "b", "failing-1", "refused-1"]
Deliver = Callable[[AgentRig], None]


def build(rig: AgentRig) -> None:
    rig.build(*(rig.intent(uuid, node=number % 2) for number, uuid in enumerate(INSTANCES)))


def terminate(rig: AgentRig) -> None:
    rig.terminate(*((uuid, 1) for uuid in INSTANCES))


def rebuild(rig: AgentRig) -> None:
    """Build later attempts of a failed instance, and of one with a claim that has ended meanwhile."""
    rig.ledger.states[("b", 1)] = "released"
    rig.build(rig.intent("b", 2), rig.intent("failing-1", 2))


def stop_source(rig: AgentRig) -> None:
    """Stop the guest of an instance that moves."""
    rig.change(("a", 1), STOP, ClaimRole.SOURCE)


def confirm_move(rig: AgentRig) -> None:
    rig.change(("a", 1), END, ClaimRole.SOURCE)


def revert_move(rig: AgentRig) -> None:
    """Start the guest of an instance that came back."""
    rig.change(("a", 1), RUN, ClaimRole.ONLY, 3)


def reboot(rig: AgentRig) -> None:
    rig.operate(("a", 1), REBOOT, 7)


def rebuild_disk(rig: AgentRig) -> None:
    rig.operate(("a", 1), REBUILD, 8)


def stop(rig: AgentRig) -> None:
    rig.change(("a", 1), STOP)


def start(rig: AgentRig) -> None:
    rig.change(("a", 1), RUN)


def offload(rig: AgentRig) -> None:
    """End the attempt of a shelved instance, which is off."""
    rig.terminate(("a", 1))


def unshelve(rig: AgentRig) -> None:
    rig.build(rig.intent("a", 2))


SCENARIOS: dict[str, list[Deliver]] = {
    "build": [build],
    "build and terminate": [build, terminate],
    "terminate before build": [terminate, build],
    "build anew": [build, rebuild],
    "move and confirm": [build, stop_source, confirm_move],
    "move and revert": [build, stop_source, revert_move],
    "reboot and rebuild": [build, reboot, rebuild_disk],
    "stop and start": [build, stop, start],
    "shelve, offload and unshelve": [build, stop, offload, unshelve],
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


def steps_of(folder: Path, deliveries: list[Deliver]) -> int:
    rig, kill_switch = AgentRig(folder, ScriptedProfile(boot_delay=1.0)), KillSwitch()
    assert play(rig, deliveries, kill_switch) == len(deliveries)
    return kill_switch.steps


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_step(name: str, tmp_path: Path) -> None:
    deliveries = SCENARIOS[name]
    steps = steps_of(tmp_path / "whole", deliveries)
    assert steps > 15
    for at in range(1, steps + 1):
        rig = AgentRig(tmp_path / f"killed-{at}", ScriptedProfile(boot_delay=1.0))
        delivered = play(rig, deliveries, KillSwitch(at))
        put_right(rig, deliveries, delivered)
        check(rig, f"{name}, killed at step {at}")
        rig.stop()


@pytest.mark.parametrize("step", [7, pytest.param(2, marks=pytest.mark.long)])
def test_killed_twice(step: int, tmp_path: Path) -> None:
    name = "build and terminate"
    deliveries = SCENARIOS[name]
    steps = steps_of(tmp_path / "whole", deliveries)
    for first in range(1 + offset(step), steps + 1, step):
        for second in range(1 + offset(step), steps + 1, step):
            rig = AgentRig(tmp_path / f"killed-{first}-{second}", ScriptedProfile(boot_delay=1.0))
            delivered = play(rig, deliveries, KillSwitch(first))
            again = play(rig, deliveries[max(0, delivered - 1) :], KillSwitch(second))
            put_right(rig, deliveries, max(0, delivered - 1) + again)
            check(rig, f"{name}, killed at steps {first} and {second}")
            rig.stop()


def put_right(rig: AgentRig, deliveries: list[Deliver], delivered: int) -> None:
    """Start the next agent, and repeat the messages that may have been lost."""
    rig.serve()
    rig.queue.settle()
    running = {ref for ref, state in rig.ledger.live().items() if state == "confirmed"}
    assert rig.guest_manager is not None
    # The file of a stopped guest goes before the record of its end
    stopped = {attempt.ref for attempt in rig.guest_manager.journal.at(Stage.STOPPED)}
    assert set(rig.guests()) | stopped == running, "a guest runs exactly where its claim is confirmed"
    for deliver in deliveries[max(0, delivered - 1) :]:
        deliver(rig)
        rig.queue.settle()


def check(rig: AgentRig, when: str) -> None:
    live = rig.ledger.live()
    assert set(rig.guests()) == set(live), when
    assert set(live.values()) <= {"confirmed"}, when
    for ref, outcomes in rig.conductor.outcomes.items():
        final = {outcome for outcome in outcomes if outcome != "gone"}
        assert len(final - {"stopped"}) <= 1, f"{when}: {ref} came to {outcomes}"
        assert (outcomes[-1] == "active") == (ref in live), f"{when}: {ref} came to {outcomes}"
    assert {ref[0] for ref in rig.conductor.outcomes} == set(INSTANCES), when
    assert not any(guest.is_off for guest in rig.guests().values()), when
    if "rebuild" in when:
        assert rig.guests()["a", 1].disk == 8, when
    attempt_refs = {attempt.ref for attempt in rig.guest_manager.journal.live()}  # type: ignore[union-attr]
    assert attempt_refs == set(live), when
