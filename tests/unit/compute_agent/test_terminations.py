# SPDX-License-Identifier: Apache-2.0
"""Terminations of one service host, early, late and twice; and no order of messages leaks anything."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.compute_agent.rig import Rig, ScriptedProfile


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    yield rig
    rig.stop()


def test_terminating_stops_the_guest_then_releases_then_reports(rig: Rig) -> None:
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


def test_terminating_what_never_was_releases_and_says_gone(rig: Rig) -> None:
    rig.ledger.prepare("a", 1, "alpha/node0")
    for _ in range(2):
        rig.terminate(("a", 1), ("b", 3))
        rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["gone", "gone"], ("b", 3): ["gone", "gone"]}
    assert rig.ledger.live() == {}


def test_a_terminate_that_overtakes_its_build_wins(rig: Rig) -> None:
    intent = rig.intent("a")
    rig.terminate(("a", 1))
    rig.build(intent)
    rig.queue.settle()
    assert rig.guests() == {}
    assert set(rig.conductor.outcomes[("a", 1)]) == {"gone"}
    assert rig.ledger.live() == {}


def test_a_terminate_while_the_build_waits_for_its_confirm_wins(rig: Rig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert rig.guests() == {}
    assert rig.ledger.states[("a", 1)] == "released"
    assert rig.conductor.outcomes == {("a", 1): ["gone"]}


def test_a_terminate_of_a_later_attempt_ends_an_earlier_one_too(rig: Rig) -> None:
    rig.build(rig.intent("a", 1))
    rig.queue.settle()
    rig.terminate(("a", 2))
    rig.queue.settle()
    assert rig.guests() == {}
    assert rig.ledger.live() == {}
    assert rig.conductor.last(("a", 2)) == "gone"


def test_a_late_terminate_of_an_earlier_attempt_spares_the_later_one(rig: Rig) -> None:
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
def test_no_order_of_messages_leaks_a_claim_or_a_guest(
    tmp_path_factory: pytest.TempPathFactory, messages: list[tuple[str, str, int]], losses: list[str]
) -> None:
    rig = Rig(tmp_path_factory.mktemp("rig"), ScriptedProfile())
    rig.serve()
    rig.ledger.lose = list(losses)
    last: dict[tuple[str, int], str] = {}
    for kind, uuid, attempt in messages:
        if kind == "build":
            # an attempt is prepared only when all others of its instance have ended, as the store sees to it
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
