# SPDX-License-Identifier: Apache-2.0
"""Scheduling of a service host: one saga pass for many messages, one timer, and backoff during outages."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compute_agent.runtime.intervals import AgentIntervals
from compute_agent.state_files import FolderInUse
from rpcapi import errors, objects
from tests.unit.compute_agent.rig import AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def test_queued_messages_share_one_saga_pass(rig: AgentRig) -> None:
    for uuid in ("a", "b", "c"):
        rig.build(rig.intent(uuid, VCPU=1))
    rig.queue.run()
    assert [verb for verb, _ in rig.ledger.calls] == ["confirm_claims"]
    assert rig.ledger.calls[0][1] == [("a", 1), ("b", 1), ("c", 1)]


def test_backoff_grows_while_calls_are_unanswered_and_resets(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"] * 8
    rig.build(rig.intent("a"))
    rig.queue.run()
    waits = []
    while rig.ledger.lose or not rig.guests():
        start = rig.clock.now
        assert rig.queue.waiting() == 1
        rig.queue.fire()
        waits.append(rig.clock.now - start)
    assert all(250 <= wait <= 500 for wait in waits[:1])
    assert all(7500 <= wait <= 15_000 for wait in waits[-2:])

    rig.queue.settle()
    rig.ledger.lose = ["confirm_claims"]
    rig.build(rig.intent("b"))
    rig.queue.run()
    start = rig.clock.now
    rig.queue.fire()
    assert rig.clock.now - start <= 500


def test_messages_during_an_outage_use_one_timer(rig: AgentRig) -> None:
    rig.ledger.lose = ["confirm_claims"] * 20
    for number in range(10):
        rig.build(rig.intent(f"i{number}", VCPU=1, node=number % 2))
        rig.queue.run()
    assert rig.queue.waiting() == 1
    rig.ledger.lose.clear()
    rig.queue.settle()
    assert len(rig.conductor.outcomes) == 10


def test_unavailable_conductor_does_not_delay_builds(rig: AgentRig) -> None:
    rig.conductor.failures_left = 1000
    for uuid in ("a", "b"):
        rig.build(rig.intent(uuid))
        rig.queue.run()
    assert set(rig.guests()) == {("a", 1), ("b", 1)}
    rig.conductor.failures_left = 0
    rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"], ("b", 1): ["active"]}


def test_rejected_request_does_not_delay_others(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    confirm = rig.ledger.confirm_claims

    def reject(ctxt: Any, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        if "bad" in refs.consumers:
            raise errors.MalformedObject(name="ClaimRefs", why="it is bad")
        return confirm(ctxt, host, refs)

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "confirm_claims", reject)
        rig.build(replace(rig.intent("bad"), request_id="req-other"), rig.intent("good"))
        rig.queue.run()
        assert list(rig.guests()) == [("good", 1)]
    rig.queue.settle()
    assert set(rig.guests()) == {("good", 1), ("bad", 1)}


def test_failed_saga_pass_is_retried(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    assert rig.guest_manager is not None
    with monkeypatch.context() as patch:
        rig.build(rig.intent("a"))
        patch.setattr(rig.guest_manager.journal._file, "append", full)
        with pytest.raises(OSError, match="No space"):
            rig.queue.run()
    # the message was not journalled, so it had no effect; its sender will repeat it
    assert rig.guest_manager.tracker.instances()["alpha/node0"] == 0
    rig.build(rig.intent("a"))
    with monkeypatch.context() as patch:
        append, calls = rig.guest_manager.journal._file.append, iter(range(10))

        def full_once(*args: object) -> None:
            if next(calls) == 1:
                raise OSError(28, "No space left on device")
            append(*args)  # type: ignore[arg-type]

        patch.setattr(rig.guest_manager.journal._file, "append", full_once)
        with pytest.raises(OSError, match="No space"):
            rig.queue.run()
        rig.queue.settle()
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


def test_first_reports_are_spread_over_the_interval(rig: AgentRig) -> None:
    # given 300 joins, their first reports fall into every tenth of the interval
    start = rig.clock.now
    tenths = set()
    for _ in range(300):
        rig.host.join(threading.Event())
        when = min(entry[0] for entry in rig.report_queue._timers)
        rig.report_queue._timers.clear()
        assert start <= when <= start + 10_000
        tenths.add(int((when - start) // 1000))
    assert tenths == set(range(10))


@pytest.mark.parametrize("jitter", [0.0, 0.2, 0.5])
def test_pauses_between_reports_have_the_configured_jitter(rig: AgentRig, jitter: float) -> None:
    rig.host.reports._intervals = lambda: AgentIntervals(report_interval=60.0, report_jitter=jitter)
    pauses = []
    rig.host.reports._report_later()
    for _ in range(300):
        start = rig.clock.now
        rig.report_queue.fire()
        pauses.append((rig.clock.now - start) / 60_000)
    assert min(pauses) >= 1 - jitter - 1e-4
    assert max(pauses) <= 1 + jitter + 1e-4
    assert max(pauses) - min(pauses) >= 1.8 * jitter


def test_reports_continue_after_a_rejected_report(rig: AgentRig, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise errors.InvalidStats(what="VCPU", why="too much")

    rig.host.reports._report_later()
    with monkeypatch.context() as patch:
        patch.setattr(rig.scheduler, "update_resource_stats", refuse)
        rig.report_queue.fire()
    assert rig.report_queue.waiting() == 1
    start = rig.clock.now
    rig.report_queue.fire()
    assert rig.scheduler.reports[-1][1].full
    assert 8000 <= rig.clock.now - start <= 12_000


def test_superseded_host_without_its_folder_stops_serving(rig: AgentRig, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise FolderInUse("the folder is another's")

    rig.reporter.report()
    rig.scheduler.supersede(rig.host.name)
    rig.reporter._check_folder = refuse
    rig.host.reports._report()
    assert rig.leaves == 1
    assert "is served no more" in caplog.text
    assert rig.report_queue.waiting() == 1  # it tries again
