# SPDX-License-Identifier: Apache-2.0
"""Hosts that change their shape under running guests: used resources are not allocated a second time."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compute_agent.attempt import Attempt
from compute_agent.resources import withheld_capacity
from compute_agent.resources.nodes import Node
from compute_agent.resources.shapes import NodeShape
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.numa.cells import HostCell
from tests.support.agent import machines
from tests.support.agent.rig import HOST, AgentRig

NODE = f"{HOST}/node0"
FLAT = Node(NODE, NodeShape("flat", {"VCPU": Inventory(16), "MEMORY_MB": Inventory(16384)}), None)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    yield rig
    rig.stop()


def restart_with(rig: AgentRig, node: Node) -> None:
    rig.stop()
    rig.nodes = (node,)
    rig.serve()
    rig.queue.settle()


def build(rig: AgentRig, uuid: str, **amounts_by_path: dict[str, int]) -> str:
    """Build with amounts by the last part of each provider's path, and return the outcome."""
    paths = ["node0", *(f"node0/{attempt.path}" for attempt in rig.nodes[0].shape.child_providers)]
    names = {path.rpartition("/")[2]: f"{HOST}/{path}" for path in paths}
    rig.build(
        replace(rig.intent(uuid), allocations={names[attempt]: amounts for attempt, amounts in amounts_by_path.items()})
    )
    rig.queue.settle()
    return str(rig.conductor.last((uuid, 1)))


def capacity(rig: AgentRig, name: str) -> int:
    """Return the capacity of a class in all of the host's providers, as reported to the scheduler."""
    rig.reporter.report()
    stocks = [node["inventories"].get(name) for node in rig.scheduler.views[HOST].values()]
    return sum(Inventory.from_dict(name, stock).capacity for stock in stocks if stock)


def attempt(rig: AgentRig, uuid: str) -> Attempt:
    assert rig.guest_manager is not None
    return next(attempt for attempt in rig.guest_manager.journal.live() if attempt.uuid == uuid)


def test_flat_host_that_gets_cells_withholds_guest_amounts(rig: AgentRig) -> None:
    restart_with(rig, FLAT)
    assert build(rig, "old", node0={"VCPU": 5, "MEMORY_MB": 6000}) == "active"
    restart_with(rig, machines.node())
    # given 2 x 2 shared CPUs with an allocation ratio of 2, and 2 x 5120 MiB
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (2, 10240 - 6000)
    assert build(rig, "too much", numa0={"VCPU": 1}) == "refused"
    assert build(rig, "new", numa1={"VCPU": 2, "MEMORY_MB": 4000}) == "active"
    restart_with(rig, machines.node())
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (2, 10240 - 6000)
    rig.terminate(("old", 1))
    rig.queue.settle()
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (8, 10240)


def test_host_that_loses_cells_withholds_cpus_memory_and_pages(rig: AgentRig) -> None:
    restart_with(rig, machines.node())
    amounts_by_path = {"PCPU": 4, "MEMORY_MB": 1000, "CUSTOM_MEMORY_PAGES_2048KB": 512}
    assert build(rig, "old", numa0=amounts_by_path, numa1={"VCPU": 2}) == "active"
    restart_with(rig, FLAT)
    assert (capacity(rig, "VCPU"), capacity(rig, "MEMORY_MB")) == (16 - 4 - 2, 16384 - 1512)
    assert build(rig, "too much", node0={"VCPU": 11, "MEMORY_MB": 1}) == "refused"
    assert build(rig, "new", node0={"VCPU": 10, "MEMORY_MB": 1}) == "active"


def test_device_moved_to_another_cell_stays_assigned(rig: AgentRig) -> None:
    restart_with(rig, machines.node())
    nic = {"0000:01:00.0": {"CUSTOM_PCI_8086_154D": 1}}
    assert build(rig, "old", **nic) == "active"
    moved = machines.node(machines.BIG.replace("nic:1@0", "nic:1@1"))
    restart_with(rig, moved)
    assert build(rig, "new", **nic) == "active"
    assert attempt(rig, "new").assignments["pci"]["units"] == {"numa1/0000:01:00.0": ["0000:01:00.2"]}


def test_pinned_cpus_count_in_their_current_cell(rig: AgentRig) -> None:
    restart_with(rig, machines.node())
    assert build(rig, "old", numa1={"PCPU": 2}) == "active"
    restart_with(rig, machines.node(machines.BIG.replace("numa_cells = 2", "numa_cells = 1").replace("@1", "@0")))
    assert build(rig, "new", numa0={"PCPU": 10}) == "active"
    both = [cell["pins"] for uuid in ("old", "new") for cell in attempt(rig, uuid).assignments["numa"]["cells"]]
    cpus = [cpu for pins in both for _, cpu in pins]
    assert len(cpus) == len(set(cpus)) == 12


def test_pinned_cpus_stay_exclusive_when_they_become_shared(rig: AgentRig) -> None:
    restart_with(rig, machines.node())
    assert build(rig, "pinned", numa0={"PCPU": 2}) == "active"
    (pinned,) = attempt(rig, "pinned").assignments["numa"]["cells"]
    shared = machines.BIG.replace("cpu_dedicated_set = 1-3,5-7,9-11,13-15", "cpu_dedicated_set = 3,5-7,11,13-15")
    restart_with(rig, machines.node(shared))
    rig.reporter.report()
    cells = [HostCell.from_dict(cell) for cell in rig.scheduler.views[HOST][NODE]["numa"]]
    assert sorted(cells[0].shared) == [0, 2, 8, 10]
    assert cells[0].shared.isdisjoint(cpu for _, cpu in pinned["pins"])


def card(functions: int) -> tuple[Node, str, str]:
    """Return a node with a PCI card of these functions, the card's name, and its class."""
    text = machines.BIG.replace("product_id = 20b5", f"product_id = 20b{functions}\n    functions = {functions}")
    return machines.node(text), "0000:03:00.0", f"CUSTOM_PCI_10DE_20B{functions}"


def accelerator(instances: int) -> tuple[Node, str, str]:
    """Return a node with an accelerator of these parts, its name, and their class."""
    return machines.node(machines.BIG.replace("instances = 3", f"instances = {instances}")), "gpu-0", "VGPU"


@pytest.mark.parametrize(
    ("before", "after"), [(card(1), card(4)), (card(4), card(1)), (accelerator(1), accelerator(4))]
)
def test_device_is_not_shared_with_the_guest_that_has_it_as_a_whole(
    rig: AgentRig, before: tuple[Node, str, str], after: tuple[Node, str, str]
) -> None:
    node, name, resource_class = before
    restart_with(rig, node)
    assert build(rig, "old", **{name: {resource_class: 1}}) == "active"
    node, name, resource_class = after
    restart_with(rig, node)
    another = {name: {resource_class: 1}}
    assert build(rig, "early", **another) == "refused"
    rig.terminate(("old", 1))
    rig.queue.settle()
    assert build(rig, "late", **another) == "active"


@pytest.mark.parametrize(
    ("ratio", "excess", "capacities"),
    [(1.0, 3, [0, 1]), (2.0, 3, [0, 4]), (0.5, 1, [0, 1]), (0.0, 1, [0, 0]), (1.0, 9, [0, 0])],
)
def test_withheld_capacity_covers_the_excess(ratio: float, excess: int, capacities: list[int]) -> None:
    declared = {name: {"VCPU": Inventory(2, allocation_ratio=ratio)} for name in ("a", "b")}
    remaining = withheld_capacity.withhold_capacity(declared, {"gone": {"VCPU": excess}})
    assert [remaining[name]["VCPU"].capacity for name in "ab"] == capacities


def test_capacity_is_withheld_from_same_class_then_same_physical_resource() -> None:
    declared = {
        "a": {"VCPU": Inventory(4), "PCPU": Inventory(2)},
        "b": {"VCPU": Inventory(4), "MEMORY_MB": Inventory(100), "CUSTOM_MEMORY_PAGES_2048KB": Inventory(50)},
    }
    used = {"a": {"VCPU": 5}, "b": {"VCPU": 1}, "gone": {"VCPU": 3, "MEMORY_MB": 120}}
    remaining = {
        name: {attempt: stock.capacity for attempt, stock in has.items()}
        for name, has in withheld_capacity.withhold_capacity(declared, used).items()
    }
    assert remaining["a"] == {"VCPU": 4, "PCPU": 1}
    assert remaining["b"] == {"VCPU": 1, "MEMORY_MB": 0, "CUSTOM_MEMORY_PAGES_2048KB": 30}


def test_inventories_without_excess_are_the_same_objects() -> None:
    declared = {"a": {"VCPU": Inventory(2)}, "b": {"VGPU": Inventory(1)}}
    remaining = withheld_capacity.withhold_capacity(declared, {"a": {"VCPU": 2}, "gone": {"VGPU": 1}})
    assert remaining["a"] is declared["a"]
    assert remaining["b"]["VGPU"].capacity == 0


def any_node(rng: random.Random) -> Node:
    """Return a node of 16 CPUs, 16 GiB and two cards of four functions, divided in a random way."""
    cells = rng.choice([0, 0, 1, 2, 4])
    changes = {
        "numa_cells": cells,
        "cpu_dedicated_set": rng.choice(["", "1-3,5-7,9-11,13-15", "8-15"]) if cells else "",
        "huge_pages": rng.choice(["", "2048:256"]) if cells else "",
        "pci_devices": rng.choice(["nic:2", f"nic:1@0,nic:1@{cells - 1}"]) if cells else "nic:2",
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
PHYSICAL_TOTALS = {"VCPU": 16, "MEMORY_MB": 16384, "CUSTOM_PCI_8086_154D": 8}
PHYSICAL_CLASS = {"PCPU": "VCPU", "CUSTOM_MEMORY_PAGES_2048KB": "MEMORY_MB"}
AMOUNT_CHOICES = {
    "VCPU": (0, 1, 3),
    "PCPU": (0, 2),
    "MEMORY_MB": (0, 512, 3000),
    "CUSTOM_MEMORY_PAGES_2048KB": (0, 64),
} | {"CUSTOM_PCI_8086_154D": (0, 1)}


@pytest.mark.parametrize("seed", range(8))
def test_guests_never_exceed_the_physical_resources_in_any_shape(rig: AgentRig, seed: int) -> None:
    rng = random.Random(seed)
    restart_with(rig, any_node(rng))
    for number in range(40):
        assert rig.guest_manager is not None
        live = rig.guest_manager.journal.live()
        what = rng.random()
        if what < 0.12:
            restart_with(rig, any_node(rng))
        elif what < 0.3 and live:
            rig.terminate(rng.choice(live).ref)
            rig.queue.settle()
        else:
            build(rig, str(number), **random_amounts(rig, rng))
        assert_sold_once(rig)


def random_amounts(rig: AgentRig, rng: random.Random) -> dict[str, dict[str, int]]:
    """Return random amounts of providers that have the class, by the last part of their paths."""
    has = {"node0": rig.nodes[0].shape.inventories}
    has |= {attempt.path.rpartition("/")[2]: attempt.inventories for attempt in rig.nodes[0].shape.child_providers}
    amounts_by_path: dict[str, dict[str, int]] = {"node0": {"DISK_GB": 1}}
    for name, choices in AMOUNT_CHOICES.items():
        providers = [attempt for attempt, inventories in has.items() if name in inventories]
        if providers and (amount := rng.choice(choices)):
            amounts_by_path.setdefault(rng.choice(providers), {})[name] = amount
    return amounts_by_path


def assert_sold_once(rig: AgentRig) -> None:
    assert rig.guest_manager is not None
    live = rig.guest_manager.journal.live()
    total: Counter[str] = Counter()
    for amounts_by_path in (amounts for attempt in live for amounts in attempt.allocations.values()):
        for name, amount in amounts_by_path.items():
            total[PHYSICAL_CLASS.get(name, name)] += amount
    assert all(total[name] <= most for name, most in PHYSICAL_TOTALS.items())
    cells = [cell for attempt in live for cell in attempt.assignments.get("numa", {}).get("cells", ())]
    cpus = [cpu for cell in cells for _, cpu in cell["pins"]]
    units = [
        unit for attempt in live for got in attempt.assignments.get("pci", {}).get("units", {}).values() for unit in got
    ]
    assert len(cpus) == len(set(cpus))
    assert len(units) == len(set(units))
