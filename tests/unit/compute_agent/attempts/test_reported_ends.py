# SPDX-License-Identifier: Apache-2.0
"""Claims of ended guests are released after the scheduler knows the host's numbers without them."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from compute_agent.attempt import Attempt, AttemptRef
from rpcapi import errors, objects
from rpcapi.resources.claims import Answer
from tests.support.agent.rig import HOST, AgentRig, ScriptedProfile

KEYS = ["inventories", "metrics.instances", "metrics.io_ops"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    """A host with one guest that the scheduler knows."""
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.reports_at_once = False
    rig.scheduler.required_keys = KEYS
    rig.serve()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.reporter.report()
    yield rig
    rig.stop()


def instances(rig: AgentRig) -> int:
    """Return the number of instances on the host that the scheduler knows."""
    return number_of(rig, "instances")


def builds(rig: AgentRig) -> int:
    """Return the number of builds in progress on the host that the scheduler knows."""
    return number_of(rig, "io_ops")


def number_of(rig: AgentRig, metric: str) -> int:
    return sum(int(view["metrics"][metric]) for view in rig.scheduler.views[HOST].values() if "metrics" in view)


@pytest.mark.parametrize("keys", [KEYS, KEYS[:2]], ids=["IoOpsFilter", "NumInstancesFilter"])
def test_claim_is_released_after_the_end_was_reported(rig: AgentRig, keys: list[str]) -> None:
    rig.scheduler.required_keys = keys
    rig.reporter.report()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert rig.guests() == {}
    assert (len(rig.ledger.live()), instances(rig)) == (1, 1)
    rig.report_queue.run()
    assert (len(rig.ledger.live()), instances(rig)) == (1, 0)
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert rig.conductor.last(("a", 1)) == "gone"


def test_release_waits_for_a_report_that_is_answered(rig: AgentRig) -> None:
    rig.scheduler.lose = ["call"]
    rig.terminate(("a", 1))
    rig.queue.settle()
    rig.report_queue.run()
    rig.queue.settle()
    assert len(rig.ledger.live()) == 1
    rig.host.reports.begin()
    rig.report_queue.fire()
    rig.queue.settle()
    assert rig.ledger.live() == {}


def test_refused_report_does_not_prevent_the_release(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise errors.InvalidStats(what=HOST, why="it is refused")

    monkeypatch.setattr(rig.scheduler, "update_resource_stats", refuse)
    rig.terminate(("a", 1))
    rig.queue.settle()
    rig.report_queue.run()
    rig.queue.settle()
    assert rig.ledger.live() == {}


def test_claims_are_released_while_further_guests_end(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a terminate message during each report, when a report is answered, the ends that it names are released."""
    rig.build(*(rig.intent(f"i{number}", node=1, VCPU=1, MEMORY_MB=64) for number in range(4)))
    rig.queue.settle()
    rig.reporter.report()
    update = rig.scheduler.update_resource_stats
    rest = [(f"i{number}", 1) for number in range(4)]

    def update_while_a_guest_ends(*arguments: Any) -> Any:
        answer = update(*arguments)
        rig.terminate(rest.pop(0))
        return answer

    monkeypatch.setattr(rig.scheduler, "update_resource_stats", update_while_a_guest_ends)
    rig.terminate(("a", 1))
    rig.queue.run()
    numbers = []
    while rest:
        rig.report_queue.run()
        rig.queue.run()
        numbers.append(len(rig.ledger.live()))
    assert numbers == [4, 3, 2, 1]


def test_guests_of_a_fenced_host_are_reported_gone_as_soon_as_they_are(rig: AgentRig) -> None:
    rig.ledger.states["a", 1] = Answer.FENCED
    rig.host.audits.request(rig.ledger.epoch, always=True)
    rig.queue.run()
    rig.report_queue.run()
    assert (rig.guests(), instances(rig)) == ({}, 0)


def test_scheduler_that_applies_no_report_gets_the_next_one_later(
    rig: AgentRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, calls = rig.scheduler.update_resource_stats, []

    def forget(ctxt: Any, name: str, stats: objects.StatsReport) -> objects.StatsAnswer:
        calls.append(name)
        answer = update(ctxt, name, stats)
        answer.need_full = True
        return answer

    monkeypatch.setattr(rig.scheduler, "update_resource_stats", forget)
    rig.terminate(("a", 1))
    for _ in range(10):
        rig.queue.run()
        rig.report_queue.run()
    assert len(calls) == 2 and len(rig.ledger.live()) == 1


def test_no_report_counts_an_intent_as_built(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given reports before and after each write of the journal, then an instance is a build until it is built."""
    assert rig.guest_manager is not None
    journal, built = rig.guest_manager.journal, []
    put = journal.put

    def put_between_reports(attempts: Sequence[Attempt]) -> None:
        rig.reporter.report()
        built.append(instances(rig) - builds(rig))
        put(attempts)
        rig.reporter.report()
        built.append(instances(rig) - builds(rig))

    monkeypatch.setattr(journal, "put", put_between_reports)
    rig.build(*(rig.intent(f"i{number}", node=1, VCPU=1, MEMORY_MB=64) for number in range(3)))
    rig.queue.run()
    assert built and set(built) == {1}
    assert builds(rig) == 3


def test_end_of_a_build_is_never_reported_as_built(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a report at each change of the tracker, when a build ends, then no report counts it as built."""
    assert rig.guest_manager is not None
    rig.build(rig.intent("b", node=1))
    rig.queue.run()
    tracker, reported = rig.guest_manager.tracker, []
    drop = tracker.drop

    def report() -> None:
        rig.reporter.report()
        reported.append(instances(rig) - builds(rig))

    def drop_during_a_report(ref: AttemptRef) -> None:
        reporter = threading.Thread(target=report)
        reporter.start()
        drop(ref)
        reporters.append(reporter)

    reporters: list[threading.Thread] = []
    monkeypatch.setattr(tracker, "drop", drop_during_a_report)
    rig.terminate(("b", 1))
    rig.queue.run()
    for reporter in reporters:
        reporter.join()
    assert reported == [1]


def test_intents_that_were_not_journalled_do_not_count(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rig.guest_manager is not None
    monkeypatch.setattr(rig.guest_manager.journal, "put", Mock(side_effect=OSError("disk full")))
    rig.build(rig.intent("b", node=1))
    with pytest.raises(OSError, match="disk full"):
        rig.queue.run()
    rig.reporter.report()
    assert (instances(rig), builds(rig)) == (1, 0)


def test_release_waits_for_no_report_if_nothing_reads_the_number_of_instances(rig: AgentRig) -> None:
    rig.scheduler.required_keys = ["inventories"]
    rig.reporter.report()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert instances(rig) == 1
