# SPDX-License-Identifier: Apache-2.0
"""The agent is killed at every step that has an effect, and the next one on the same folder puts things right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compute_agent.rig import Fuse, Killed, Rig, ScriptedProfile

INSTANCES = ["a", "b", "failing-1", "refused-1"]
Deliver = Callable[[Rig], None]


def build(rig: Rig) -> None:
    rig.build(*(rig.intent(uuid, node=number % 2) for number, uuid in enumerate(INSTANCES)))


def terminate(rig: Rig) -> None:
    rig.terminate(*((uuid, 1) for uuid in INSTANCES))


def rebuild(rig: Rig) -> None:
    """A later attempt of what failed comes back to the same host, and one whose claim was ended meanwhile."""
    rig.ledger.states[("b", 1)] = "released"
    rig.build(rig.intent("b", 2), rig.intent("failing-1", 2))


SCENARIOS: dict[str, list[Deliver]] = {
    "build": [build],
    "build and terminate": [build, terminate],
    "terminate before build": [terminate, build],
    "build anew": [build, rebuild],
}


def play(rig: Rig, deliveries: list[Deliver], fuse: Fuse) -> int:
    """Deliver all messages to an agent with ``fuse``; return how many had been delivered when it died."""
    delivered = 0
    try:
        rig.serve(fuse)
        for deliver in deliveries:
            delivered += 1
            deliver(rig)
            rig.queue.settle()
    except Killed:
        pass
    finally:
        rig.stop()
    return delivered


def steps_of(folder: Path, deliveries: list[Deliver]) -> int:
    rig, fuse = Rig(folder, ScriptedProfile(boot_delay=1.0)), Fuse()
    assert play(rig, deliveries, fuse) == len(deliveries)
    return fuse.steps


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_step(name: str, tmp_path: Path) -> None:
    deliveries = SCENARIOS[name]
    steps = steps_of(tmp_path / "whole", deliveries)
    assert steps > 15
    for at in range(1, steps + 1):
        rig = Rig(tmp_path / f"killed-{at}", ScriptedProfile(boot_delay=1.0))
        delivered = play(rig, deliveries, Fuse(at))
        put_right(rig, deliveries, delivered)
        check(rig, f"{name}, killed at step {at}")
        rig.stop()


@pytest.mark.parametrize("stride", [7, pytest.param(2, marks=pytest.mark.long)])
def test_killed_twice(stride: int, tmp_path: Path) -> None:
    name = "build and terminate"
    deliveries = SCENARIOS[name]
    steps = steps_of(tmp_path / "whole", deliveries)
    for first in range(1, steps + 1, stride):
        for second in range(1, steps + 1, stride):
            rig = Rig(tmp_path / f"killed-{first}-{second}", ScriptedProfile(boot_delay=1.0))
            delivered = play(rig, deliveries, Fuse(first))
            again = play(rig, deliveries[max(0, delivered - 1) :], Fuse(second))
            put_right(rig, deliveries, max(0, delivered - 1) + again)
            check(rig, f"{name}, killed at steps {first} and {second}")
            rig.stop()


def put_right(rig: Rig, deliveries: list[Deliver], delivered: int) -> None:
    """Let the next agent take over, and the conductor repeat what may have been lost with the last one."""
    rig.serve()
    rig.queue.settle()
    running = {ref for ref, state in rig.ledger.live().items() if state == "confirmed"}
    assert set(rig.guests()) == running, "a guest runs exactly where its claim is confirmed"
    for deliver in deliveries[max(0, delivered - 1) :]:
        deliver(rig)
        rig.queue.settle()


def check(rig: Rig, when: str) -> None:
    live = rig.ledger.live()
    assert set(rig.guests()) == set(live), when
    assert set(live.values()) <= {"confirmed"}, when
    for ref, outcomes in rig.conductor.outcomes.items():
        final = {outcome for outcome in outcomes if outcome != "gone"}
        assert len(final) <= 1, f"{when}: {ref} came to {outcomes}"
        assert (outcomes[-1] == "active") == (ref in live), f"{when}: {ref} came to {outcomes}"
    assert {ref[0] for ref in rig.conductor.outcomes} == set(INSTANCES), when
    held = {attempt.ref for attempt in rig.guest_manager.journal.live()}  # type: ignore[union-attr]
    assert held == set(live), when
