# SPDX-License-Identifier: Apache-2.0
"""Claims of ended guests are released after the scheduler knows the host's numbers without them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rpcapi import errors
from tests.support.agent.rig import HOST, AgentRig, ScriptedProfile

KEYS = ["inventories", "metrics.instances", "metrics.io_ops"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    """A host with one guest that the scheduler knows."""
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.reads_builds = True
    rig.scheduler.required_keys = KEYS
    rig.serve()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.reporter.report()
    yield rig
    rig.stop()


def instances(rig: AgentRig) -> int:
    """Return the number of instances on the host that the scheduler knows."""
    return sum(view["metrics"]["instances"] for view in rig.scheduler.views[HOST].values() if "metrics" in view)


def test_claim_is_released_after_the_end_was_reported(rig: AgentRig) -> None:
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
    rig.host.reports.begin()
    rig.report_queue.fire()
    rig.queue.settle()
    assert rig.ledger.live() == {}


def test_release_waits_for_no_report_if_nothing_reads_the_number_of_builds(rig: AgentRig) -> None:
    rig.scheduler.required_keys = ["inventories"]
    rig.reporter.report()
    rig.terminate(("a", 1))
    rig.queue.settle()
    assert rig.ledger.live() == {}
    assert instances(rig) == 1
