# SPDX-License-Identifier: Apache-2.0
"""Guests that are given certain CPUs and devices: over restarts, and in what the scheduler is told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.calls import CallUnanswered
from compute_agent.profile import HostProfile
from rpcapi.model.numa.cells import HostCell
from tests.unit.compute_agent import machines
from tests.unit.compute_agent.rig import HOST, Fuse, Killed, Rig, ScriptedProfile

NODE = f"{HOST}/node0"
CELL = f"{NODE}/numa0"
NIC = f"{CELL}/0000:01:00.0"


def made(folder: Path, profile: HostProfile | None = None) -> Rig:
    rig = Rig(folder, profile)
    rig.nodes = (machines.node(),)
    return rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = made(tmp_path)
    rig.serve()
    rig.queue.settle()
    yield rig
    rig.stop()


def guest(rig: Rig, uuid: str, pinned: int = 2, functions: int = 1) -> Attempt:
    held = {CELL: {"PCPU": pinned}, NIC: {"CUSTOM_PCI_8086_154D": functions}}
    return replace(
        rig.intent(uuid), allocations={name: amounts for name, amounts in held.items() if all(amounts.values())}
    )


def cpus(attempt: Attempt) -> set[int]:
    return {pin[1] for cell in attempt.assignments["numa"]["cells"] for pin in cell["pins"]}


def units(attempt: Attempt) -> set[str]:
    return set(attempt.assignments["pci"]["units"][NIC.removeprefix(f"{NODE}/")])


def test_the_guests_of_one_message_get_each_their_own_until_there_is_no_more(rig: Rig) -> None:
    rig.build(*(guest(rig, uuid) for uuid in "abcd"))
    rig.queue.settle()
    assert rig.guest_manager is not None
    live = rig.guest_manager.journal.live()
    assert [attempt.uuid for attempt in live] == ["a", "b", "c"]
    assert set.union(*map(cpus, live)) == {1, 2, 3, 9, 10, 11}
    assert sum(len(units(attempt)) for attempt in live) == len(set.union(*map(units, live))) == 3
    assert rig.conductor.reasons[("d", 1)] == f"provider {CELL} cannot give 2 PCPU: 6 of 6 are in use"
    # what each was given is told to the conductor, and with it to the operator
    assert rig.conductor.reasons[("a", 1)] == "NUMA cell 0: CPUs 0>1 1>9; numa0/0000:01:00.0: 0000:01:00.1"
    # when one ends, all of that can be given again
    rig.terminate(("b", 1))
    rig.build(guest(rig, "e"))
    rig.queue.settle()
    (late,) = (attempt for attempt in rig.guest_manager.journal.live() if attempt.uuid == "e")
    assert (cpus(late), units(late)) == ({2, 10}, {"0000:01:00.2"})


def test_killed_at_every_step_the_next_agent_keeps_what_was_given(tmp_path: Path) -> None:
    steps = _played(tmp_path / "whole", Fuse())[0]
    assert steps > 10
    for at in range(1, steps + 1):
        _, rig, before = _played(tmp_path / f"killed-{at}", Fuse(at))
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


def _played(folder: Path, fuse: Fuse) -> tuple[int, Rig, dict[AttemptRef, Attempt]]:
    """Have a guest built, one that fails, and a third; return what was journalled when the agent died."""
    rig = made(folder, ScriptedProfile(boot_delay=1.0))
    try:
        rig.serve(fuse)
        for uuid in ("a", "failing", "c"):
            rig.build(guest(rig, uuid))
            rig.queue.settle()
    except Killed:
        pass
    assert rig.guest_manager is not None
    live = {attempt.ref: attempt for attempt in rig.guest_manager.journal.live()}
    rig.stop()
    return fuse.steps, rig, live


def test_a_journal_tells_assignments_where_there_are_some_and_is_read_without() -> None:
    flat = Attempt("a", 1, Stage.SPAWNED, 5, name=NODE, allocations={NODE: {"VCPU": 1}})
    assert "assignments" not in flat.as_dict()
    assert Attempt.from_dict(flat.as_dict()) == flat
    pinned = replace(flat, assignments={"numa": {"cells": []}})
    assert Attempt.from_dict(pinned.as_dict()) == pinned


def test_a_report_tells_all_that_hangs_below_a_node_and_then_what_changed(rig: Rig) -> None:
    rig.reporter.report()
    told = rig.scheduler.views[HOST]
    assert {name: state["parent"] for name, state in told.items() if name != NODE} == {
        f"{NODE}/0000:03:00.0": NODE,
        CELL: NODE,
        NIC: CELL,
        f"{NODE}/numa1": NODE,
        f"{NODE}/numa1/0000:02:00.0": f"{NODE}/numa1",
        f"{NODE}/numa1/gpu-0": f"{NODE}/numa1",
    }
    assert set(told[CELL]) == {"parent", "inventories", "traits"}
    assert told[CELL]["inventories"]["PCPU"]["max_unit"] == 6
    assert "parent" not in told[NODE]
    assert [HostCell.from_dict(cell).pinned for cell in told[NODE]["numa"]] == [set(), set()]
    rig.build(guest(rig, "a"))
    rig.queue.settle()
    rig.report_queue.run()
    report = rig.scheduler.reports[-1][1]
    assert not report.full
    assert set(report.nodes) == {NODE}
    assert [HostCell.from_dict(cell).pinned for cell in report.nodes[NODE]["numa"]] == [{1, 9}, set()]


def test_cells_that_nobody_reads_are_not_told(rig: Rig) -> None:
    rig.scheduler.wanted = ["inventories"]
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    rig.reporter.report()
    assert "numa" not in rig.scheduler.views[HOST][NODE]
    assert CELL in rig.scheduler.views[HOST]


def test_what_changes_hands_is_told_at_once_and_many_changes_once(rig: Rig) -> None:
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


def test_what_changes_hands_is_told_at_once_though_the_report_before_got_no_answer(rig: Rig) -> None:
    rig.reporter.report()
    rig.scheduler.lose = ["answer"]
    with pytest.raises(CallUnanswered):
        rig.reporter.report()
    rig.build(guest(rig, "a"))
    rig.queue.run()
    rig.report_queue.run()
    assert HostCell.from_dict(rig.scheduler.views[HOST][NODE]["numa"][0]).pinned == {1, 9}


def test_amounts_alone_wait_for_their_turn(rig: Rig) -> None:
    rig.reporter.report()
    sent = len(rig.scheduler.reports)
    rig.build(replace(rig.intent("a"), allocations={NODE: {"DISK_GB": 1}}))
    rig.queue.settle()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent


def test_a_silent_host_does_not_tell_that_either(rig: Rig, tmp_path: Path) -> None:
    # given a host that falls silent in place of its next report
    host = rig.host
    rig.profile = HostProfile(silence_rate=1.0, silence_time=100.0)
    host._report_due()
    sent = len(rig.scheduler.reports)
    rig.build(guest(rig, "a"))
    rig.queue.run()
    rig.report_queue.run()
    assert len(rig.scheduler.reports) == sent
    # when it speaks again, it tells all of it
    rig.report_queue.fire()
    assert HostCell.from_dict(rig.scheduler.views[HOST][NODE]["numa"][0]).pinned == {1, 9}


def test_builds_under_way_and_failed_ones_are_metrics(tmp_path: Path) -> None:
    rig = made(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    rig.conductor.deaf = 1000

    def metrics() -> tuple[float, float]:
        rig.reporter.report()
        told = rig.scheduler.views[HOST][NODE]["metrics"]
        return told["io_ops"], told["failed_builds"]

    assert metrics() == (0, 0)
    rig.build(guest(rig, "a"), guest(rig, "b"), guest(rig, "failing-1", pinned=1))
    rig.queue.run()
    assert metrics() == (2, 1)
    # an agent that takes over knows what is under way, and no more of what has failed
    rig.stop()
    rig.clock.now += 1
    rig.serve()
    assert metrics() == (2, 0)
    rig.conductor.deaf = 0
    rig.build(guest(rig, "failing-2", pinned=1))
    rig.queue.settle()
    assert metrics() == (0, 0)
    rig.build(guest(rig, "failing-3", pinned=1))
    rig.queue.settle()
    assert metrics() == (0, 1)
    rig.stop()
