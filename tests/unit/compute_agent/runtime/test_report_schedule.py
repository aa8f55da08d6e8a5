# SPDX-License-Identifier: Apache-2.0
"""Times of reports: spread over the interval, jittered, and after failed reports."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute_agent.runtime.schedules import AgentIntervals
from compute_agent.state_files import FolderInUse
from rpcapi import errors
from tests.support.agent.rig import AgentRig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


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
    assert "Stopped serving host" in caplog.text
    assert rig.report_queue.waiting() == 1  # it tries again
