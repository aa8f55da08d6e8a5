# SPDX-License-Identifier: Apache-2.0
"""Audits: at start, in a new epoch, again after a grace, and the effects of their answers."""

import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent.rig import RESOURCES, AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    yield rig
    rig.stop()


def restart(rig: AgentRig) -> None:
    rig.stop()
    rig.serve()
    rig.queue.settle()


def test_audit_reports_everything_needed_to_reassert_a_claim(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b", node=1))
    rig.queue.settle()
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("c"))
    rig.queue.run()

    rig.auditor.audit(7)

    report = rig.ledger.audits[-1]
    assert (report.host, report.epoch) == ("alpha", 7)
    rows = dict(zip(report.consumers, zip(report.states, report.names, report.allocations, strict=True), strict=True))
    assert rows["b"] == ("confirmed", "alpha/node1", {"alpha/node1": RESOURCES})
    assert rows["c"][0] == "prepared"
    assert report.owners[0] == {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "req-build"}


def test_audit_restores_claims_in_an_empty_store(rig: AgentRig) -> None:
    rig.build(rig.intent("a"), rig.intent("b"))
    rig.queue.settle()
    rig.ledger.states.clear()
    restart(rig)
    assert rig.ledger.live() == {("a", 1): "confirmed", ("b", 1): "confirmed"}
    assert set(rig.guests()) == {("a", 1), ("b", 1)}


@pytest.mark.parametrize("end", ["released", "aborted", "expired", "conflict", "foreign"])
def test_guest_of_ended_claim_is_stopped_and_reported_gone(rig: AgentRig, end: str) -> None:
    rig.build(rig.intent("a", VCPU=8), rig.intent("b", node=1))
    rig.queue.settle()
    rig.ledger.states[("a", 1)] = end

    restart(rig)

    assert list(rig.guests()) == [("b", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active", "gone"], ("b", 1): ["active"]}
    assert rig.conductor.reasons[("a", 1)] == f"claim is over: {end}"
    assert rig.guest_manager is not None
    assert rig.guest_manager.tracker.used("alpha/node0") == {"VCPU": 0}


def test_intent_with_expired_claim_is_refused_after_restart(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    rig.ledger.states[("a", 1)] = "expired"
    restart(rig)
    assert rig.guests() == {}
    assert rig.conductor.outcomes == {("a", 1): ["refused"]}


@pytest.mark.parametrize("answer", ["unknown", "unverified"])
def test_guest_of_a_claim_that_is_not_known_keeps_running(rig: AgentRig, answer: str) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.ledger.states[("a", 1)] = answer
    rig.auditor.audit(7)
    rig.queue.settle()
    assert list(rig.guests()) == [("a", 1)]


def test_audit_in_another_epoch_does_not_count(rig: AgentRig) -> None:
    rig.ledger.epoch = 9
    result = rig.auditor.audit(8)
    assert (result.epoch, rig.auditor.epoch) == (9, 7)


def test_new_epoch_is_audited_once_for_repeated_notifications(rig: AgentRig) -> None:
    rig.ledger.epoch = 8
    for _ in range(3):
        rig.host.audits.request(8)
    rig.queue.settle()
    rig.host.audits.request(8)
    rig.host.audits.request(7)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8]


def test_audit_follows_a_newer_epoch(rig: AgentRig) -> None:
    rig.ledger.epoch = 9
    rig.host.audits.request(8)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 9]
    assert rig.auditor.epoch == 9


def test_unanswered_audit_is_repeated(rig: AgentRig) -> None:
    rig.ledger.epoch = 8
    rig.ledger.lose = ["audit_host", "audit_host"]
    rig.host.audits.request(8)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 8, 8]
    assert rig.auditor.epoch == 8


def test_orphaned_claims_are_audited_again_after_grace(rig: AgentRig) -> None:
    rig.ledger.epoch, rig.ledger.again_s = 8, 60.0
    rig.host.audits.request(8)
    rig.queue.run()
    rig.ledger.again_s = 0.0
    begun = rig.clock.now
    rig.queue.settle()
    assert rig.clock.now - begun == 60_000
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 8]


@pytest.mark.parametrize("cause", ["new epoch", "audit requested"])
def test_answer_to_a_report_triggers_an_audit(rig: AgentRig, cause: str) -> None:
    rig.scheduler.audit = cause == "audit requested"
    rig.scheduler.epoch = rig.ledger.epoch = 8 if cause == "new epoch" else 7
    rig.host.join(threading.Event())
    audits = len(rig.ledger.audits)
    rig.scheduler.epoch = rig.ledger.epoch = rig.scheduler.epoch + (cause == "new epoch")

    rig.report_queue.fire()
    rig.queue.settle()

    assert len(rig.ledger.audits) == audits + 1


def test_host_joins_by_stats_then_audit_then_work(rig: AgentRig) -> None:
    rig.stop()
    verbs: list[str] = []
    rig.start()

    def noted(verb: str, call: Callable[..., Any], *args: Any) -> Any:
        verbs.append(verb)
        return call(*args)

    for fake, verb in ((rig.scheduler, "update_resource_stats"), (rig.ledger, "audit_host")):
        call = getattr(fake, verb)
        setattr(fake, verb, functools.partial(noted, verb, call))
    rig.scheduler.epoch, rig.ledger.epoch = 10, 11
    rig.host.join(threading.Event())
    assert verbs == ["update_resource_stats", "audit_host", "audit_host"]
    assert rig.scheduler.reports[-1][1].full
    assert rig.auditor.epoch == 11


def test_audit_sends_the_newest_stamp_and_keeps_the_one_of_its_answer(rig: AgentRig) -> None:
    rig.serve()
    rig.ledger.stamp = "7.42.aa"
    for _ in range(2):
        rig.auditor.audit(rig.ledger.epoch)
    rig.reporter.report()
    assert [audit.stamp for audit in rig.ledger.audits][-2:] == [None, "7.42.aa"]
    assert rig.scheduler.reports[-1][1].stamp == "7.42.aa"
