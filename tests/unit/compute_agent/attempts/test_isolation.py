# SPDX-License-Identifier: Apache-2.0
"""An agent whose host reported nothing for too long audits before it starts or reports anything."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import AttemptRef, ClaimEnd
from compute_agent.attempts.isolation import AuditDuty
from rpcapi.objects.guest import REBOOT, RUN, STOP
from tests.support.agent.rig import AgentKilled, AgentRig, KillSwitch


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


def audit(duty: AuditDuty) -> None:
    duty.discharge(duty.isolations)


def test_audit_is_due_at_the_start_and_after_each_isolation(seconds: Seconds) -> None:
    duty = AuditDuty(60.0, seconds)
    assert duty.is_due
    audit(duty)
    seconds.now = 60.0
    assert not duty.is_due
    seconds.now = 61.0
    assert duty.is_isolated and duty.is_due
    duty.note_report(seconds.now)
    assert duty.is_due and not duty.is_isolated
    audit(duty)
    assert not duty.is_due
    seconds.now = 122.0
    assert duty.is_due


def test_audit_during_an_isolation_is_repeated_after_it(seconds: Seconds) -> None:
    """Given an audit that is answered although the host's reports are not: a later fence is possible at once."""
    duty = AuditDuty(60.0, seconds)
    audit(duty)
    seconds.now = 61.0
    audit(duty)
    assert duty.is_due
    duty.note_report(seconds.now)
    assert duty.is_due
    audit(duty)
    assert not duty.is_due


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
    rig.host.reports._send_report()
    rig.queue.settle()
    assert audits(rig) == before + 1 and rig.guests() == {}
    # And it is one audit for each isolation
    rig.host.reports._send_report()
    rig.queue.settle()
    assert audits(rig) == before + 1


def test_agent_with_contact_does_not_audit_again(rig: AgentRig) -> None:
    before = audits(rig)
    for number in range(5):
        rig.clock.now += 59_000
        rig.host.reports._send_report()
        rig.build(rig.intent(f"i{number}", VCPU=1))
        rig.queue.settle()
    assert audits(rig) == before


class Suspension:
    """Suspends the agent for longer than the time-out during one call, and fences its claims if ``fenced``."""

    def __init__(self, rig: AgentRig, owner: object, method: str, *, after: bool = False, fenced: bool = True) -> None:
        self.rig, self.fenced, self.after = rig, fenced, after
        self.calls = 0
        self._plain = getattr(owner, method)
        setattr(owner, method, self._call)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls > 1:
            return self._plain(*args, **kwargs)
        if self.after:
            answer = self._plain(*args, **kwargs)
            self._suspend()
            return answer
        self._suspend()
        return self._plain(*args, **kwargs)

    def _suspend(self) -> None:
        self.rig.clock.now += 61_000
        if self.fenced:
            self.rig.ledger.states.update(dict.fromkeys(self.rig.ledger.states, "fenced"))


def started(rig: AgentRig) -> list[tuple[str, int]]:
    """Return the guests that the agent starts from now on, as it starts them."""
    assert rig.guest_manager is not None
    hypervisor = rig.guest_manager.hypervisor
    refs: list[tuple[str, int]] = []
    create, resume = hypervisor._create, hypervisor._continue

    def note(plain: Any) -> Any:
        def call(guest: Any) -> Any:
            refs.append(tuple(guest.ref))
            return plain(guest)

        return call

    hypervisor._create, hypervisor._continue = note(create), note(resume)  # type: ignore[method-assign]
    return refs


def request_build(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b"))


def request_incoming(rig: AgentRig) -> None:
    for uuid in ("a", "b"):
        rig.receive(rig.intent(uuid))


def request_reboot(rig: AgentRig) -> None:
    request_build(rig)
    rig.queue.settle()
    for uuid in ("a", "b"):
        rig.operate((uuid, 1), REBOOT, 1)


def request_start(rig: AgentRig) -> None:
    request_build(rig)
    rig.queue.settle()
    for action in (STOP, RUN):
        for uuid in ("a", "b"):
            rig.change((uuid, 1), action)
        if action == STOP:
            rig.queue.settle()


REQUESTS = (request_build, request_incoming, request_reboot, request_start)


@pytest.mark.parametrize("request_guests", REQUESTS)
@pytest.mark.parametrize("started_before", [0, 1])
def test_guests_of_a_fenced_host_do_not_start_after_a_suspension_within_a_pass(
    rig: AgentRig, request_guests: Callable[[AgentRig], None], started_before: int
) -> None:
    # Given a pass in which the agent is suspended before the first or the second of two starts
    request_guests(rig)
    assert rig.guest_manager is not None
    refs = started(rig)
    method = "receive" if request_guests is request_incoming else "spawn"
    suspension = Suspension(rig, rig.guest_manager.hypervisor, method, after=started_before == 1)
    before = audits(rig)
    # When its host is fenced meanwhile
    rig.queue.settle()
    # Then no further guest starts: the audit ends both attempts, and the pass has ended neither
    assert len(refs) == started_before
    assert suspension.calls == started_before + 1
    assert audits(rig) == before + 1
    assert rig.guests() == {}
    ended = [rig.guest_manager.journal.get(AttemptRef(uuid, 1)) for uuid in ("a", "b")]
    assert [(attempt.reason, attempt.claim_end) for attempt in ended if attempt is not None] == [
        ("claim is over: fenced", ClaimEnd.NOTHING)
    ] * 2
    assert "failed" not in [outcome for outcomes in rig.conductor.outcomes.values() for outcome in outcomes]


@pytest.mark.parametrize("request_guests", REQUESTS)
def test_pass_goes_on_after_the_audit_if_no_claim_has_ended(
    rig: AgentRig, request_guests: Callable[[AgentRig], None]
) -> None:
    request_guests(rig)
    assert rig.guest_manager is not None
    method = "receive" if request_guests is request_incoming else "spawn"
    Suspension(rig, rig.guest_manager.hypervisor, method, fenced=False)
    refs, before = started(rig), audits(rig)
    rig.queue.settle()
    assert audits(rig) == before + 1
    assert sorted(refs) == [("a", 1), ("b", 1)] == sorted(rig.guests())
    last = "incoming" if request_guests is request_incoming else "active"
    assert [rig.conductor.last((uuid, 1)) for uuid in ("a", "b")] == [last] * 2


def test_confirm_that_is_read_after_a_suspension_starts_nothing(rig: AgentRig) -> None:
    # Given two requests, and an agent that is suspended until long after the answer to its first confirm
    rig.build(rig.intent("a"))
    rig.build(replace(rig.intent("b"), request_id="req-other"))
    suspension = Suspension(rig, rig.ledger, "confirm_claims", after=True)
    refs, before = started(rig), audits(rig)
    rig.queue.settle()
    # Then the agent neither starts the guest nor confirms the other claim before it audits
    assert (refs, suspension.calls, audits(rig)) == ([], 1, before + 1)
    assert rig.conductor.outcomes == {("a", 1): ["refused"], ("b", 1): ["refused"]}


def test_audit_that_is_read_after_a_suspension_is_repeated(rig: AgentRig) -> None:
    # Given an isolated agent that is suspended again, until long after its audit was answered
    rig.build(rig.intent("a"))
    rig.clock.now += 61_000
    Suspension(rig, rig.ledger, "audit_host", after=True)
    refs, before = started(rig), audits(rig)
    rig.queue.settle()
    assert (refs, audits(rig)) == ([], before + 2)


def test_report_counts_from_the_time_of_its_sending(seconds: Seconds) -> None:
    duty = AuditDuty(60.0, seconds)
    seconds.now = 50.0
    duty.note_report(sent_at=0.0)
    seconds.now = 61.0
    assert duty.is_isolated
    duty.note_report(sent_at=55.0)
    duty.note_report(sent_at=20.0)  # repeated after its answer was lost
    seconds.now = 115.0
    assert not duty.is_isolated
    seconds.now = 116.0
    assert duty.is_isolated


def test_answers_of_other_services_do_not_prove_that_the_host_is_up(rig: AgentRig) -> None:
    """Given a host whose reports arrive no more, while its calls to the conductor and the store do."""
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.change(("a", 1), STOP)
    rig.queue.settle()
    rig.scheduler.lose = ["call"] * 100
    for _ in range(4):
        rig.clock.now += 20_000
        rig.guest_manager.journal.report_again(AttemptRef("a", 1))  # type: ignore[union-attr]
        rig.host.advance()
        rig.queue.run()
    rig.change(("a", 1), RUN)
    refs = started(rig)
    rig.queue.run()
    assert refs == []
    rig.scheduler.lose = []
    rig.host.reports._send_report()
    rig.queue.settle()
    assert refs == [("a", 1)]


def test_new_agent_starts_nothing_before_its_first_audit(tmp_path: Path) -> None:
    # Given a host that lost its guests, and a new agent
    rig = AgentRig(tmp_path)
    rig.serve()
    request_build(rig)
    rig.queue.settle()
    rig.stop()
    for file in (tmp_path / "guests").glob("*.json"):
        file.unlink()
    host = rig.start()
    refs, before = started(rig), audits(rig)
    rig.ledger.states[("a", 1)] = "fenced"
    # When a pass runs before its first audit has an answer
    rig.ledger.lose = ["audit_host"]
    host.advance()
    rig.queue.run()
    assert (refs, audits(rig)) == ([], before + 1)
    host.audits.request(rig.ledger.epoch)
    rig.queue.settle()
    # Then it starts only the guest whose claim has not ended, and only after an audit
    assert refs == [("b", 1)]
    rig.stop()
