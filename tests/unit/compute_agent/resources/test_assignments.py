# SPDX-License-Identifier: Apache-2.0
"""Assignments of CPUs and devices: across restarts, and in reports to the scheduler."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import Attempt, AttemptRef
from compute_agent.attempts.calls import CallUnanswered
from compute_agent.simulator.profile import HostProfile
from rpcapi.resources.numa.cells import HostCell
from tests.support.agent import machines
from tests.support.agent.rig import HOST, AgentKilled, AgentRig, KillSwitch, ScriptedProfile

NODE = f"{HOST}/node0"
CELL = f"{NODE}/numa0"
NIC = f"{CELL}/0000:01:00.0"


def make_rig(folder: Path, profile: HostProfile | None = None) -> AgentRig:
    rig = AgentRig(folder, profile)
    rig.nodes = (machines.node(),)
    return rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = make_rig(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def guest(rig: AgentRig, uuid: str, pinned: int = 2, functions: int = 1) -> Attempt:
    allocations = {CELL: {"PCPU": pinned}, NIC: {"CUSTOM_PCI_8086_154D": functions}}
    return replace(
        rig.intent(uuid), allocations={name: amounts for name, amounts in allocations.items() if all(amounts.values())}
    )


def cpus(attempt: Attempt) -> set[int]:
    return {pin[1] for cell in attempt.assignments["numa"]["cells"] for pin in cell["pins"]}


def units(attempt: Attempt) -> set[str]:
    return set(attempt.assignments["pci"]["units"][NIC.removeprefix(f"{NODE}/")])


def test_guests_of_a_message_get_distinct_cpus_and_devices_until_exhausted(rig: AgentRig) -> None:
    rig.build(*(guest(rig, uuid) for uuid in "abcd"))
    rig.queue.settle()
    assert rig.guest_manager is not None
    live = rig.guest_manager.journal.live()
    assert [attempt.uuid for attempt in live] == ["a", "b", "c"]
    assert set.union(*map(cpus, live)) == {1, 2, 3, 9, 10, 11}
    assert sum(len(units(attempt)) for attempt in live) == len(set.union(*map(units, live))) == 3
    assert rig.conductor.reasons[("d", 1)] == f"provider {CELL} cannot provide 2 PCPU: 6 of 6 are in use"
    # the assignment is reported to the conductor, where the operator sees it
    assert rig.conductor.reasons[("a", 1)] == "NUMA cell 0: CPUs 0>1 1>9; numa0/0000:01:00.0: 0000:01:00.1"
    # when a guest ends, its CPUs and devices can be assigned again
    rig.terminate(("b", 1))
    rig.build(guest(rig, "e"))
    rig.queue.settle()
    (late,) = (attempt for attempt in rig.guest_manager.journal.live() if attempt.uuid == "e")
    assert (cpus(late), units(late)) == ({2, 10}, {"0000:01:00.2"})


def test_assignments_survive_a_kill_at_every_step(tmp_path: Path) -> None:
    steps = _played(tmp_path / "whole", KillSwitch())[0]
    assert steps > 10
    for at in range(1, steps + 1):
        _, rig, before = _played(tmp_path / f"killed-{at}", KillSwitch(at))
        rig.serve()
        assert rig.guest_manager is not None
        for attempt in rig.guest_manager.journal.live():
            assert before.get(attempt.ref, attempt).assignments == attempt.assignments
        for uuids in (("a", "failing", "c"), ("d",)):
            rig.build(*(guest(rig, uuid) for uuid in uuids))
            rig.queue.settle()
        live = rig.guest_manager.journal.live()
        assert len(live) == 3
        assert set.union(*map(cpus, live)) == {1, 2, 3, 9, 10, 11}
        assert len(set.union(*map(units, live))) == 3
        rig.stop()


def _played(folder: Path, kill_switch: KillSwitch) -> tuple[int, AgentRig, dict[AttemptRef, Attempt]]:
    """Build a guest, one that fails, and a third; return the live attempts when the agent was killed."""
    rig = make_rig(folder, ScriptedProfile(boot_delay=1.0))
    try:
        rig.serve(kill_switch)
        for uuid in ("a", "failing", "c"):
            rig.build(guest(rig, uuid))
            rig.queue.settle()
    except AgentKilled:
        pass
    assert rig.guest_manager is not None
    live = {attempt.ref: attempt for attempt in rig.guest_manager.journal.live()}
    rig.stop()
    return kill_switch.steps, rig, live


def test_first_report_has_all_child_providers_and_next_only_changes(rig: AgentRig) -> None:
    rig.reporter.report()
    views = rig.scheduler.views[HOST]
    assert {name: state["parent"] for name, state in views.items() if name != NODE} == {
        f"{NODE}/0000:03:00.0": NODE,
        CELL: NODE,
        NIC: CELL,
        f"{NODE}/numa1": NODE,
        f"{NODE}/numa1/0000:02:00.0": f"{NODE}/numa1",
        f"{NODE}/numa1/gpu-0": f"{NODE}/numa1",
    }
    assert set(views[CELL]) == {"parent", "inventories", "traits"}
    assert views[CELL]["inventories"]["PCPU"]["max_unit"] == 6
    assert "parent" not in views[NODE]
    assert [HostCell.from_dict(cell).pinned for cell in views[NODE]["numa"]] == [set(), set()]
    rig.build(guest(rig, "a"))
    rig.queue.settle()
    rig.report_queue.run()
    report = rig.scheduler.reports[-1][1]
    assert not report.full
    assert set(report.nodes) == {NODE}
    assert [HostCell.from_dict(cell).pinned for cell in report.nodes[NODE]["numa"]] == [{1, 9}, set()]


def test_cells_that_the_scheduler_does_not_read_are_not_reported(rig: AgentRig) -> None:
    rig.scheduler.required_keys = ["inventories"]
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    rig.reporter.report()
    assert "numa" not in rig.scheduler.views[HOST][NODE]
    assert CELL in rig.scheduler.views[HOST]


def test_changed_assignments_are_reported_at_once_in_one_report(rig: AgentRig) -> None:
    rig.reporter.report()
    sent = len(rig.scheduler.reports)
    for uuid in "ab":
        rig.build(guest(rig, uuid))
    rig.queue.run()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent + 1
    rig.terminate(("a", 1))
    rig.queue.settle()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent + 2
    assert HostCell.from_dict(rig.scheduler.views[HOST][NODE]["numa"][0]).pinned == {2, 10}


def test_changed_assignments_are_reported_at_once_after_an_unanswered_report(rig: AgentRig) -> None:
    rig.reporter.report()
    rig.scheduler.lose = ["answer"]
    with pytest.raises(CallUnanswered):
        rig.reporter.report()
    rig.build(guest(rig, "a"))
    rig.queue.run()
    rig.report_queue.run()
    assert HostCell.from_dict(rig.scheduler.views[HOST][NODE]["numa"][0]).pinned == {1, 9}


def test_changed_amounts_wait_for_the_next_report(rig: AgentRig) -> None:
    rig.reporter.report()
    sent = len(rig.scheduler.reports)
    rig.build(replace(rig.intent("a"), allocations={NODE: {"DISK_GB": 1}}))
    rig.queue.settle()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent


def test_silent_host_does_not_report_changed_assignments(rig: AgentRig, tmp_path: Path) -> None:
    # given a host that falls silent in place of its next report
    host = rig.host
    rig.profile = HostProfile(silence_rate=1.0, silence_time=100.0)
    host.reports._report_due()
    sent = len(rig.scheduler.reports)
    rig.build(guest(rig, "a"))
    rig.queue.run()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent
    # when it reports again, the report has all changes
    rig.report_queue.fire()
    assert HostCell.from_dict(rig.scheduler.views[HOST][NODE]["numa"][0]).pinned == {1, 9}


def test_builds_in_progress_and_failed_builds_are_metrics(tmp_path: Path) -> None:
    rig = make_rig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    rig.conductor.failures_left = 1000

    def metrics() -> tuple[float, float]:
        rig.reporter.report()
        views = rig.scheduler.views[HOST][NODE]["metrics"]
        return views["io_ops"], views["failed_builds"]

    assert metrics() == (0, 0)
    rig.build(guest(rig, "a"), guest(rig, "b"), guest(rig, "failing-1", pinned=1))
    rig.queue.run()
    assert metrics() == (2, 1)
    # a new agent counts builds in progress, but resets the failures
    rig.stop()
    rig.clock.now += 1
    rig.serve()
    assert metrics() == (2, 0)
    rig.conductor.failures_left = 0
    rig.build(guest(rig, "failing-2", pinned=1))
    rig.queue.settle()
    assert metrics() == (0, 0)
    rig.build(guest(rig, "failing-3", pinned=1))
    rig.queue.settle()
    assert metrics() == (0, 1)
    rig.stop()
