# SPDX-License-Identifier: Apache-2.0
"""An agent that reached no service for too long audits before it starts or reports anything."""

from collections.abc import Iterator
from pathlib import Path

import oslo_messaging as messaging
import pytest

from compute_agent.attempts.calls import CallRejected, CallUnanswered, ServiceCalls
from compute_agent.attempts.isolation import IsolationWatch
from rpcapi import errors
from tests.unit.compute_agent.rig import AgentKilled, AgentRig, KillSwitch


class Seconds:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.isolation_timeout = 60.0
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def audits(rig: AgentRig) -> int:
    return len(rig.ledger.audits)


def test_isolation_counts_once_from_its_beginning(seconds: Seconds) -> None:
    watch = IsolationWatch(60.0, seconds)
    seconds.now = 60.0
    assert watch.count == 0
    seconds.now = 61.0
    assert watch.count == 1
    watch.note_answer()
    assert watch.count == 1
    seconds.now = 121.0
    assert watch.count == 1
    seconds.now = 122.0
    assert watch.count == 2


def test_every_definite_answer_is_a_contact_and_no_other(seconds: Seconds) -> None:
    calls = ServiceCalls(5.0, IsolationWatch(60.0, seconds))

    def refuse(ctxt: object) -> None:
        raise errors.UnknownHost(name="x")

    def time_out(ctxt: object) -> None:
        raise messaging.MessagingTimeout("late")

    seconds.now = 50.0
    calls.call("verb", lambda ctxt: None)
    seconds.now = 100.0
    with pytest.raises(CallRejected):
        calls.call("verb", refuse)
    seconds.now = 150.0
    assert calls.isolation.count == 0
    with pytest.raises(CallUnanswered):
        calls.call("verb", time_out)
    seconds.now = 161.0
    assert calls.isolation.count == 1


def test_agent_that_was_cut_off_audits_before_it_confirms_or_spawns(rig: AgentRig) -> None:
    # Given a guest, and a build that arrived before the agent was cut off
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.build(rig.intent("b"))
    before, rig.ledger.calls = audits(rig), []
    # When it is suspended for longer than the time-out, and the host is fenced meanwhile
    rig.clock.now += 61_000
    rig.ledger.states[("a", 1)] = "fenced"
    rig.ledger.states[("b", 1)] = "fenced"
    rig.queue.settle()
    # Then it audits first: the guest has stopped, and the build confirms and starts nothing
    assert audits(rig) == before + 1
    assert "confirm_claims" not in [verb for verb, _ in rig.ledger.calls]
    assert rig.guests() == {}
    assert rig.conductor.outcomes[("b", 1)] == ["refused"]


def test_confirmed_attempt_is_not_spawned_after_an_isolation_that_ended_it(tmp_path: Path) -> None:
    # Given an agent that was killed between the confirmation and the start of a guest
    rig = AgentRig(tmp_path)
    rig.isolation_timeout = 60.0
    switch = KillSwitch()
    rig.serve(switch)
    rig.queue.settle()
    rig.build(rig.intent("a"))
    switch.at = switch.steps + 4  # the journal's intent, and both steps of the confirmation
    with pytest.raises(AgentKilled):
        rig.queue.settle()
    assert rig.ledger.states[("a", 1)] == "confirmed" and rig.guests() == {}
    # When its claim is fenced while the next agent, which has audited, is suspended
    rig.stop()
    rig.serve()
    rig.ledger.states[("a", 1)] = "fenced"
    rig.clock.now += 61_000
    rig.queue.settle()
    # Then the guest never started
    assert rig.guests() == {} and rig.guest_manager is not None
    assert not rig.guest_manager.journal.live()
    rig.stop()


def test_nothing_is_done_while_the_audit_has_no_answer(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.ledger.calls, rig.ledger.lose = [], ["audit_host"] * 3
    rig.clock.now += 61_000
    rig.queue.run()
    while rig.ledger.lose:
        assert rig.ledger.calls == [] and rig.guests() == {}
        rig.queue.fire()
    rig.queue.settle()
    assert set(rig.guests()) == {("a", 1)}


def test_first_answered_report_after_an_isolation_starts_the_audit(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    before = audits(rig)
    rig.ledger.states[("a", 1)] = "fenced"
    rig.clock.now += 61_000
    rig.host._send_report()
    rig.queue.settle()
    assert audits(rig) == before + 1 and rig.guests() == {}
    # And it is one audit for each isolation
    rig.host._send_report()
    rig.queue.settle()
    assert audits(rig) == before + 1


def test_agent_with_contact_does_not_audit_again(rig: AgentRig) -> None:
    before = audits(rig)
    for number in range(5):
        rig.clock.now += 59_000
        rig.build(rig.intent(f"i{number}", VCPU=1))
        rig.queue.settle()
    assert audits(rig) == before
