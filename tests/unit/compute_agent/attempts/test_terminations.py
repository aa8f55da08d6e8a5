# SPDX-License-Identifier: Apache-2.0
"""Terminations of one service host: early, late and repeated; no message order leaks claims or guests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.agent.rig import AgentRig, ScriptedProfile


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    yield rig
    rig.stop()


def test_terminate_stops_the_guest_then_releases_then_reports(rig: AgentRig) -> None:
    rig.build(rig.intent("a", VCPU=8))
    rig.queue.settle()
    rig.ledger.lose = ["release_claims"]
    rig.terminate(("a", 1))
    rig.queue.run()
    assert rig.guests() == {}
    assert rig.conductor.last(("a", 1)) == "active"
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active", "gone"]}
    assert rig.ledger.live() == {}
    rig.build(rig.intent("b", VCPU=8))
    rig.queue.settle()
    assert rig.conductor.last(("b", 1)) == "active"


def test_terminate_of_unknown_attempt_releases_and_reports_gone(rig: AgentRig) -> None:
    rig.ledger.prepare("a", 1, "alpha/node0")
    for _ in range(2):
        rig.terminate(("a", 1), ("b", 3))
        rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["gone", "gone"], ("b", 3): ["gone", "gone"]}
    assert rig.ledger.live() == {}


def test_terminate_before_its_build_prevents_the_build(rig: AgentRig) -> None:
    intent = rig.intent("a")
    rig.terminate(("a", 1))
    rig.build(intent)
    rig.queue.settle()
    assert rig.guests() == {}
    assert set(rig.conductor.outcomes[("a", 1)]) == {"gone"}
    assert rig.ledger.live() == {}


def test_terminate_during_an_unconfirmed_build_ends_it(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert rig.guests() == {}
    assert rig.ledger.states[("a", 1)] == "released"
    assert rig.conductor.outcomes == {("a", 1): ["gone"]}


def test_terminate_of_later_attempt_ends_earlier_ones_that_wait_for_confirmation(rig: AgentRig) -> None:
    rig.build(rig.intent("a", 1))
    rig.terminate(("a", 2))
    rig.queue.settle()
    assert rig.guests() == {}
    assert rig.ledger.live() == {}
    assert [rig.conductor.last(("a", attempt)) for attempt in (1, 2)] == ["gone", "gone"]


def test_terminate_of_later_attempt_keeps_a_guest_with_a_confirmed_claim(rig: AgentRig) -> None:
    rig.build(rig.intent("a", 1))
    rig.queue.settle()
    rig.terminate(("a", 2))  # as of a resize on this host that the conductors' store forgot
    rig.queue.settle()
    assert list(rig.guests()) == [("a", 1)]
    assert rig.ledger.live() == {("a", 1): "confirmed"}
    assert rig.conductor.last(("a", 2)) == "gone"


def test_late_terminate_of_earlier_attempt_keeps_the_later_attempt(rig: AgentRig) -> None:
    rig.build(rig.intent("a", 2))
    rig.queue.settle()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert list(rig.guests()) == [("a", 2)]
    assert rig.ledger.live() == {("a", 2): "confirmed"}
    assert rig.conductor.last(("a", 1)) == "gone"


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["build", "terminate"]), st.sampled_from(["a", "b", "failing-1"]), st.integers(1, 3)),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(messages=MESSAGES, losses=st.lists(st.sampled_from(["confirm_claims", "release_claims", "abort_claims"])))
def test_no_message_order_leaks_a_claim_or_a_guest(
    tmp_path_factory: pytest.TempPathFactory, messages: list[tuple[str, str, int]], losses: list[str]
) -> None:
    rig = AgentRig(tmp_path_factory.mktemp("rig"), ScriptedProfile())
    rig.serve()
    rig.ledger.lose = list(losses)
    last: dict[tuple[str, int], str] = {}
    for kind, uuid, attempt in messages:
        if kind == "build":
            # an attempt is prepared only when all others of its instance have ended, as the store ensures
            free = not any(ref[0] == uuid for ref in rig.ledger.live())
            newer = all(ref[0] != uuid or ref[1] <= attempt for ref in rig.ledger.states)
            if (uuid, attempt) not in rig.ledger.states and not (free and newer):
                continue
            rig.build(rig.intent(uuid, attempt))
        else:
            rig.terminate((uuid, attempt))
        rig.queue.settle()
        last[(uuid, attempt)] = kind

    assert {ref: guest.ref for ref, guest in rig.guests().items()} == {ref: ref for ref in rig.ledger.live()}
    assert set(rig.ledger.live().values()) <= {"confirmed"}
    assert set(rig.conductor.outcomes) >= set(last)
    for ref in last:
        assert (rig.conductor.last(ref) == "active") == (ref in rig.guests()), ref
    rig.stop()
