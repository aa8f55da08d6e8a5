# SPDX-License-Identifier: Apache-2.0
"""Hosts that change their shape under guests: what those hold is not sold a second time under another name."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent import stranded
from compute_agent.attempt import Attempt
from compute_agent.nodes import Node
from compute_agent.shapes import NodeShape
from rpcapi.model.inventory import Inventory
from tests.unit.compute_agent import machines
from tests.unit.compute_agent.rig import HOST, Rig

NODE = f"{HOST}/node0"
FLAT = Node(NODE, NodeShape("flat", {"VCPU": Inventory(16), "MEMORY_MB": Inventory(16384)}), None)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


def become(rig: Rig, node: Node) -> None:
    rig.stop()
    rig.nodes = (node,)
    rig.serve()
    rig.queue.settle()


def build(rig: Rig, uuid: str, **held: dict[str, int]) -> str:
    """Build with an allocation by the last part of each provider's path, and return what came of it."""
    paths = ["node0", *(f"node0/{each.path}" for each in rig.nodes[0].shape.child_providers)]
    names = {path.rpartition("/")[2]: f"{HOST}/{path}" for path in paths}
    rig.build(replace(rig.intent(uuid), allocations={names[each]: amounts for each, amounts in held.items()}))
    rig.queue.settle()
    return str(rig.conductor.last((uuid, 1)))


def capacity(rig: Rig, name: str) -> int:
    """Return how much of a class the scheduler knows of in all of the host's providers."""
    rig.reporter.report()
    stocks = [node["inventories"].get(name) for node in rig.scheduler.views[HOST].values()]
    return sum(Inventory.from_dict(name, stock).capacity for stock in stocks if stock)


def attempt(rig: Rig, uuid: str) -> Attempt:
    assert rig.guest_manager is not None
    return next(each for each in rig.guest_manager.journal.live() if each.uuid == uuid)


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
    rig.queue.settle()
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
    left = stranded.withhold_capacity(given, {"gone": {"VCPU": lost}})
    assert [left[name]["VCPU"].capacity for name in "ab"] == capacities


def test_it_is_kept_back_where_there_is_room_and_then_of_the_same_stuff() -> None:
    given = {
        "a": {"VCPU": Inventory(4), "PCPU": Inventory(2)},
        "b": {"VCPU": Inventory(4), "MEMORY_MB": Inventory(100), "CUSTOM_MEMORY_PAGES_2048KB": Inventory(50)},
    }
    used = {"a": {"VCPU": 5}, "b": {"VCPU": 1}, "gone": {"VCPU": 3, "MEMORY_MB": 120}}
    left = {
        name: {each: stock.capacity for each, stock in has.items()}
        for name, has in stranded.withhold_capacity(given, used).items()
    }
    assert left["a"] == {"VCPU": 4, "PCPU": 1}
    assert left["b"] == {"VCPU": 1, "MEMORY_MB": 0, "CUSTOM_MEMORY_PAGES_2048KB": 30}


def test_where_nothing_is_lost_inventories_stay_the_very_same() -> None:
    given = {"a": {"VCPU": Inventory(2)}, "b": {"VGPU": Inventory(1)}}
    left = stranded.withhold_capacity(given, {"a": {"VCPU": 2}, "gone": {"VGPU": 1}})
    assert left["a"] is given["a"]
    assert left["b"]["VGPU"].capacity == 0


def any_node(chance: random.Random) -> Node:
    """Return a node of 16 CPUs, 16 GiB and two cards of four functions, cut in some way."""
    cells = chance.choice([0, 0, 1, 2, 4])
    changes = {
        "numa_cells": cells,
        "cpu_dedicated_set": chance.choice(["", "1-3,5-7,9-11,13-15", "8-15"]) if cells else "",
        "huge_pages": chance.choice(["", "2048:256"]) if cells else "",
        "pci_devices": chance.choice(["nic:2", f"nic:1@0,nic:1@{cells - 1}"]) if cells else "nic:2",
    }
    return machines.node(CUT.format(**changes))


CUT = """
    [compute]
    hosts = alpha
    [shape:big]
    vcpus = 16
    memory_mb = 16384
    reserved_memory_mb = 0
    cpu_allocation_ratio = 1.0
    numa_cells = {numa_cells}
    threads_per_core = 2
    cpu_dedicated_set = {cpu_dedicated_set}
    huge_pages = {huge_pages}
    pci_devices = {pci_devices}
    [pci_device:nic]
    vendor_id = 8086
    product_id = 154d
    functions = 4
"""
STUFF = {"VCPU": 16, "MEMORY_MB": 16384, "CUSTOM_PCI_8086_154D": 8}
STUFF_OF = {"PCPU": "VCPU", "CUSTOM_MEMORY_PAGES_2048KB": "MEMORY_MB"}
WISHES = {"VCPU": (0, 1, 3), "PCPU": (0, 2), "MEMORY_MB": (0, 512, 3000), "CUSTOM_MEMORY_PAGES_2048KB": (0, 64)} | {
    "CUSTOM_PCI_8086_154D": (0, 1)
}


@pytest.mark.parametrize("seed", range(8))
def test_however_a_node_is_cut_its_guests_never_hold_more_than_it_is(rig: Rig, seed: int) -> None:
    chance = random.Random(seed)
    become(rig, any_node(chance))
    for number in range(40):
        assert rig.guest_manager is not None
        live = rig.guest_manager.journal.live()
        what = chance.random()
        if what < 0.12:
            become(rig, any_node(chance))
        elif what < 0.3 and live:
            rig.terminate(chance.choice(live).ref)
            rig.queue.settle()
        else:
            build(rig, str(number), **wish(rig, chance))
        assert_sold_once(rig)


def wish(rig: Rig, chance: random.Random) -> dict[str, dict[str, int]]:
    """Return some amounts of providers that have the class, by the last parts of their paths."""
    has = {"node0": rig.nodes[0].shape.inventories}
    has |= {each.path.rpartition("/")[2]: each.inventories for each in rig.nodes[0].shape.child_providers}
    held: dict[str, dict[str, int]] = {"node0": {"DISK_GB": 1}}
    for name, choices in WISHES.items():
        givers = [each for each, inventories in has.items() if name in inventories]
        if givers and (amount := chance.choice(choices)):
            held.setdefault(chance.choice(givers), {})[name] = amount
    return held


def assert_sold_once(rig: Rig) -> None:
    assert rig.guest_manager is not None
    live = rig.guest_manager.journal.live()
    total: Counter[str] = Counter()
    for held in (amounts for each in live for amounts in each.allocations.values()):
        for name, amount in held.items():
            total[STUFF_OF.get(name, name)] += amount
    assert all(total[name] <= most for name, most in STUFF.items())
    cells = [cell for each in live for cell in each.assignments.get("numa", {}).get("cells", ())]
    cpus = [cpu for cell in cells for _, cpu in cell["pins"]]
    units = [unit for each in live for got in each.assignments.get("pci", {}).get("units", {}).values() for unit in got]
    assert len(cpus) == len(set(cpus))
    assert len(units) == len(set(units))
