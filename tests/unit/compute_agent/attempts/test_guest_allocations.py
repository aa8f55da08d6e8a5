# SPDX-License-Identifier: Apache-2.0
"""Guests, journal and tracker of one host, at the start and during builds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.journal_file import JournalDamaged
from compute_agent.resources.nodes import Node, NodeShape
from rpcapi.objects.guest import STOP
from rpcapi.resources.inventory import Inventory
from tests.support.agent.rig import NODES, AgentRig


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


def test_guest_without_attempt_is_stopped(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.guest_manager.hypervisor.spawn(AttemptRef("stray", 1), "alpha/node1")  # type: ignore[union-attr]
    restart(rig)
    assert list(rig.guests()) == [("a", 1)]


def test_lost_guest_is_spawned_again_without_a_report(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.guest_manager.hypervisor.stop(AttemptRef("a", 1))  # type: ignore[union-attr]
    restart(rig)
    assert list(rig.guests()) == [("a", 1)]
    assert rig.guest_manager is not None
    assert [attempt.ref for attempt in rig.guest_manager.journal.at(Stage.SPAWNED)] == [("a", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active"]}


@pytest.mark.parametrize("is_damaged", [False, True], ids=["lost", "damaged"])
def test_stopped_guest_that_is_lost_is_created_again_powered_off(rig: AgentRig, is_damaged: bool) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.change(("a", 1), STOP)
    rig.queue.settle()
    (file,) = (rig.folder / "guests").iterdir()
    if is_damaged:
        file.write_text("{")
    else:
        rig.guest_manager.hypervisor.stop(AttemptRef("a", 1))  # type: ignore[union-attr]
    for _ in range(2):
        restart(rig)
        assert rig.guests()["a", 1].is_off
        assert list(rig.ledger.live()) == [("a", 1)]
    assert rig.conductor.outcomes == {("a", 1): ["active", "stopped"]}


def test_guests_without_journal_are_not_stopped(rig: AgentRig) -> None:
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.stop()
    (rig.folder / "journal").unlink()
    with pytest.raises(JournalDamaged, match="1 guests but an empty journal"):
        rig.start()
    assert list(rig.guests()) == [("a", 1)]


def test_shrunk_shape_reports_excess_and_admits_no_more(rig: AgentRig) -> None:
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
