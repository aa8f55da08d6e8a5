# SPDX-License-Identifier: Apache-2.0
"""Builds of one service host: repeated, reordered, refused, and during outages of other services."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent.rig import AgentRig, ScriptedProfile


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    yield rig
    rig.stop()


def verbs(rig: AgentRig) -> list[str]:
    return [verb for verb, _ in rig.ledger.calls]


def test_intent_that_does_not_fit_is_refused_and_its_claim_aborted(rig: AgentRig) -> None:
    rig.build(rig.intent("a", VCPU=6), rig.intent("b", VCPU=6), rig.intent("c", VCPU=2), rig.intent("d", VCPU=1))
    rig.queue.settle()
    assert {ref[0]: outcomes for ref, outcomes in rig.conductor.outcomes.items()} == {
        "a": ["active"],
        "b": ["refused"],
        "c": ["active"],
        "d": ["refused"],
    }
    assert rig.conductor.reasons[("b", 1)] == "provider alpha/node0 cannot provide 6 VCPU: 6 of 8 are in use"
    assert rig.ledger.states[("b", 1)] == rig.ledger.states[("d", 1)] == "aborted"
    assert sorted(rig.ledger.live()) == [("a", 1), ("c", 1)]


def test_repeated_build_reports_the_existing_outcome(rig: AgentRig) -> None:
    intents = [rig.intent("a"), rig.intent("refused-1"), rig.intent("failing-1")]
    for _ in range(3):
        rig.build(*intents)
        rig.queue.settle()
    assert rig.conductor.outcomes == {
        ("a", 1): ["active"] * 3,
        ("refused-1", 1): ["refused"] * 3,
        ("failing-1", 1): ["failed"] * 3,
    }
    assert len(rig.guests()) == 1
    assert verbs(rig).count("confirm_claims") == 1


def test_build_repeated_in_progress_is_one_build(rig: AgentRig) -> None:
    intent = rig.intent("a")
    rig.build(intent)
    rig.build(intent)
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


def test_older_attempt_is_refused(rig: AgentRig) -> None:
    rig.build(rig.intent("a", 2))
    rig.queue.settle()
    rig.build(rig.intent("a", 1, prepared=False))
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 2): ["active"], ("a", 1): ["refused"]}
    assert "attempt 2 of the instance is newer" in rig.conductor.reasons[("a", 1)]
    assert list(rig.guests()) == [("a", 2)]


def test_newer_attempt_replaces_a_live_older_attempt(rig: AgentRig) -> None:
    # given an attempt that the store has ended without the host
    rig.build(rig.intent("a", 1, VCPU=8))
    rig.queue.settle()
    rig.ledger.states[("a", 1)] = "released"

    rig.build(rig.intent("a", 2, VCPU=8))
    rig.queue.settle()

    assert list(rig.guests()) == [("a", 2)]
    assert rig.conductor.outcomes[("a", 2)] == ["active"]
    assert rig.ledger.live() == {("a", 2): "confirmed"}
