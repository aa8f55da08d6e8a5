# SPDX-License-Identifier: Apache-2.0
"""Hosts that change their shape under guests: what those hold is not sold a second time under another name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent import stranded
from compute_agent.attempt import Attempt
from compute_agent.nodes import Node
from compute_agent.shapes import Shape
from rpcapi.model.inventory import Inventory
from tests.unit.compute_agent import machines
from tests.unit.compute_agent.rig import HOST, Rig

NODE = f"{HOST}/node0"
FLAT = Node(NODE, Shape("flat", {"VCPU": Inventory(16), "MEMORY_MB": Inventory(16384)}), None)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


def become(rig: Rig, node: Node) -> None:
    rig.stop()
    rig.nodes = (node,)
    rig.serve()
    rig.lane.settle()


def build(rig: Rig, uuid: str, **held: dict[str, int]) -> str:
    """Build with an allocation by the last part of each provider's path, and return what came of it."""
    paths = ["node0", *(f"node0/{each.path}" for each in rig.nodes[0].shape.below)]
    names = {path.rpartition("/")[2]: f"{HOST}/{path}" for path in paths}
    rig.build(replace(rig.intent(uuid), allocations={names[each]: amounts for each, amounts in held.items()}))
    rig.lane.settle()
    return str(rig.conductor.last((uuid, 1)))


def capacity(rig: Rig, name: str) -> int:
    """Return how much of a class the scheduler knows of in all of the host's providers."""
    rig.reporter.report()
    stocks = [node["inventories"].get(name) for node in rig.scheduler.views[HOST].values()]
    return sum(Inventory.from_dict(name, stock).capacity for stock in stocks if stock)


def attempt(rig: Rig, uuid: str) -> Attempt:
    assert rig.holdings is not None
    return next(each for each in rig.holdings.journal.live() if each.uuid == uuid)


def test_a_flat_host_that_gets_cells_keeps_back_what_its_guests_hold(rig: Rig) -> None:
    become(rig, FLAT)
    assert build(rig, "old", node0={"VCPU": 5, "MEMORY_MB": 6000}) == "active"
    become(rig, machines.node())
    # given 2 x 2 shared CPUs, sold twice, and 2 x 5120 MiB
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (2, 10240 - 6000)
    assert build(rig, "too much", numa0={"VCPU": 1}) == "refused"
    assert build(rig, "new", numa1={"VCPU": 2, "MEMORY_MB": 4000}) == "active"
    become(rig, machines.node())
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (2, 10240 - 6000)
    rig.terminate(("old", 1))
    rig.lane.settle()
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (8, 10240)


def test_a_host_that_loses_its_cells_keeps_back_cpus_memory_and_pages(rig: Rig) -> None:
    become(rig, machines.node())
    held = {"PCPU": 4, "MEMORY_MB": 1000, "CUSTOM_MEMORY_PAGES_2048KB": 512}
    assert build(rig, "old", numa0=held, numa1={"VCPU": 2}) == "active"
    become(rig, FLAT)
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (16 - 4 - 2, 16384 - 1512)
    assert build(rig, "too much", node0={"VCPU": 11, "MEMORY_MB": 1}) == "refused"
    assert build(rig, "new", node0={"VCPU": 10, "MEMORY_MB": 1}) == "active"


def test_a_device_stays_its_guests_when_it_moves_to_another_cell(rig: Rig) -> None:
    become(rig, machines.node())
    nic = {"0000:01:00.0": {"CUSTOM_PCI_8086_154D": 1}}
    assert build(rig, "old", **nic) == "active"
    moved = machines.node(machines.BIG.replace("nic:1@0", "nic:1@1"))
    become(rig, moved)
    assert build(rig, "new", **nic) == "active"
    assert attempt(rig, "new").assignments["pci"]["units"] == {"numa1/0000:01:00.0": ["0000:01:00.2"]}


def test_cpus_that_are_pinned_count_in_whatever_cell_they_are_now(rig: Rig) -> None:
    become(rig, machines.node())
    assert build(rig, "old", numa1={"PCPU": 2}) == "active"
    become(rig, machines.node(machines.BIG.replace("numa_cells = 2", "numa_cells = 1").replace("@1", "@0")))
    assert build(rig, "new", numa0={"PCPU": 10}) == "active"
    both = [cell["pins"] for uuid in ("old", "new") for cell in attempt(rig, uuid).assignments["numa"]["cells"]]
    cpus = [cpu for pins in both for _, cpu in pins]
    assert len(cpus) == len(set(cpus)) == 12


@pytest.mark.parametrize(
    ("ratio", "lost", "capacities"),
    [(1.0, 3, [0, 1]), (2.0, 3, [0, 4]), (0.5, 1, [0, 1]), (0.0, 1, [0, 0]), (1.0, 9, [0, 0])],
)
def test_what_is_kept_back_is_never_less_than_what_is_lost(ratio: float, lost: int, capacities: list[int]) -> None:
    given = {name: {"VCPU": Inventory(2, allocation_ratio=ratio)} for name in ("a", "b")}
    left = stranded.kept_back(given, {"VCPU": lost})
    assert [left[name]["VCPU"].capacity for name in "ab"] == capacities


def test_where_nothing_is_lost_inventories_stay_the_very_same() -> None:
    given = {"a": {"VCPU": Inventory(2)}, "b": {"VGPU": Inventory(1)}}
    left = stranded.kept_back(given, {"VGPU": 1})
    assert left["a"] is given["a"]
    assert left["b"]["VGPU"].capacity == 0
