# SPDX-License-Identifier: Apache-2.0
"""Audits: at start, in a new epoch, again after a grace, and what their answers lead to."""

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.journal_file import JournalDamaged
from compute_agent.nodes import Node, NodeShape
from rpcapi.model.inventory import Inventory
from tests.unit.compute_agent.rig import NODES, RESOURCES, Rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.serve()
    yield rig
    rig.stop()


def restart(rig: Rig) -> None:
    rig.stop()
    rig.serve()
    rig.queue.settle()


def test_reports_all_that_the_store_needs_to_take_a_claim_back(rig: Rig) -> None:
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


def test_a_store_that_forgot_everything_gets_it_back(rig: Rig) -> None:
    rig.build(rig.intent("a"), rig.intent("b"))
    rig.queue.settle()
    rig.ledger.states.clear()
    restart(rig)
    assert rig.ledger.live() == {("a", 1): "confirmed", ("b", 1): "confirmed"}
    assert set(rig.guests()) == {("a", 1), ("b", 1)}


@pytest.mark.parametrize("end", ["released", "aborted", "expired", "conflict", "foreign"])
def test_a_guest_whose_claim_is_over_is_stopped_and_reported_gone(rig: Rig, end: str) -> None:
    rig.build(rig.intent("a", VCPU=8), rig.intent("b", node=1))
    rig.queue.settle()
    rig.ledger.states[("a", 1)] = end

    restart(rig)

    assert list(rig.guests()) == [("b", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active", "gone"], ("b", 1): ["active"]}
    assert rig.conductor.reasons[("a", 1)] == f"its claim is over: {end}"
    assert rig.guest_manager is not None
    assert rig.guest_manager.tracker.used("alpha/node0") == {"VCPU": 0}


def test_an_intent_whose_claim_expired_while_the_agent_was_down_is_refused(rig: Rig) -> None:
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("a"))
    rig.queue.run()
    rig.ledger.states[("a", 1)] = "expired"
    restart(rig)
    assert rig.guests() == {}
    assert rig.conductor.outcomes == {("a", 1): ["refused"]}


def test_what_runs_is_not_stopped_because_the_store_does_not_know_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.ledger.states[("a", 1)] = "unknown"
    rig.auditor.audit(7)
    rig.queue.settle()
    assert list(rig.guests()) == [("a", 1)]


def test_an_audit_in_another_epoch_than_the_stores_does_not_count(rig: Rig) -> None:
    rig.ledger.epoch = 9
    audited = rig.auditor.audit(8)
    assert (audited.epoch, rig.auditor.epoch) == (9, 7)


def test_a_new_epoch_is_audited_once_however_often_it_is_told(rig: Rig) -> None:
    rig.ledger.epoch = 8
    for _ in range(3):
        rig.host.audit(8)
    rig.queue.settle()
    rig.host.audit(8)
    rig.host.audit(7)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8]


def test_an_epoch_that_moved_on_is_followed(rig: Rig) -> None:
    rig.ledger.epoch = 9
    rig.host.audit(8)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 9]
    assert rig.auditor.epoch == 9


def test_an_audit_without_an_answer_is_repeated(rig: Rig) -> None:
    rig.ledger.epoch = 8
    rig.ledger.lose = ["audit_host", "audit_host"]
    rig.host.audit(8)
    rig.queue.settle()
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 8, 8]
    assert rig.auditor.epoch == 8


def test_claims_that_nobody_runs_are_looked_at_again_after_their_grace(rig: Rig) -> None:
    rig.ledger.epoch, rig.ledger.again_s = 8, 60.0
    rig.host.audit(8)
    rig.queue.run()
    rig.ledger.again_s = 0.0
    begun = rig.clock.now
    rig.queue.settle()
    assert rig.clock.now - begun == 60_000
    assert [report.epoch for report in rig.ledger.audits] == [7, 8, 8]


@pytest.mark.parametrize("told", ["new epoch", "audit asked for"])
def test_the_answer_to_a_report_brings_an_audit(rig: Rig, told: str) -> None:
    rig.scheduler.audit = told == "audit asked for"
    rig.scheduler.epoch = rig.ledger.epoch = 8 if told == "new epoch" else 7
    rig.host.join(threading.Event())
    audits = len(rig.ledger.audits)
    rig.scheduler.epoch = rig.ledger.epoch = rig.scheduler.epoch + (told == "new epoch")

    rig.report_queue.fire()
    rig.queue.settle()

    assert len(rig.ledger.audits) == audits + 1


def test_a_host_joins_in_the_order_stats_then_audit_then_work(rig: Rig) -> None:
    rig.stop()
    seen: list[str] = []
    rig.start()

    def noted(verb: str, call: Callable[..., Any], *args: Any) -> Any:
        seen.append(verb)
        return call(*args)

    for double, verb in ((rig.scheduler, "update_resource_stats"), (rig.ledger, "audit_host")):
        call = getattr(double, verb)
        setattr(double, verb, functools.partial(noted, verb, call))
    rig.scheduler.epoch, rig.ledger.epoch = 10, 11
    rig.host.join(threading.Event())
    assert seen == ["update_resource_stats", "audit_host", "audit_host"]
    assert rig.scheduler.reports[-1][1].full
    assert rig.auditor.epoch == 11


# -- what is found at start ------------------------------------------------------------------------------------------


def test_a_guest_that_no_attempt_stands_behind_is_stopped(rig: Rig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.guest_manager.hypervisor.spawn(AttemptRef("stray", 1), "alpha/node1")  # type: ignore[union-attr]
    restart(rig)
    assert list(rig.guests()) == [("a", 1)]


def test_a_guest_that_went_down_with_its_machine_is_spawned_again_without_a_word(rig: Rig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.guest_manager.hypervisor.stop(AttemptRef("a", 1))  # type: ignore[union-attr]
    restart(rig)
    assert list(rig.guests()) == [("a", 1)]
    assert rig.guest_manager is not None
    assert [attempt.ref for attempt in rig.guest_manager.journal.at(Stage.SPAWNED)] == [("a", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


def test_guests_without_any_journal_are_not_touched(rig: Rig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.stop()
    (rig.folder / "journal").unlink()
    with pytest.raises(JournalDamaged, match="1 guests but an empty journal"):
        rig.start()
    assert list(rig.guests()) == [("a", 1)]


def test_a_shape_that_shrank_is_flagged_and_takes_no_more(rig: Rig) -> None:
    rig.build(rig.intent("a", VCPU=6))
    rig.queue.settle()
    rig.stop()
    small = NodeShape("small", {**NODES[0].shape.inventories, "VCPU": Inventory(4)})
    rig.nodes = (Node(NODES[0].name, small, None), replace(NODES[1]))
    rig.serve()
    assert rig.guest_manager is not None
    assert rig.guest_manager.tracker.excess() == {"alpha/node0": {"VCPU": 2}}
    rig.build(rig.intent("b", VCPU=1), rig.intent("c", node=1, VCPU=1))
    rig.queue.settle()
    assert (rig.conductor.last(("b", 1)), rig.conductor.last(("c", 1))) == ("refused", "active")
    assert ("a", 1) in rig.guests()
