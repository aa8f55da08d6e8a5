# SPDX-License-Identifier: Apache-2.0
"""Built-in resource kinds on a node with NUMA cells, PCI devices and accelerators."""

from typing import Any

import pytest

from compute_agent.attempt import Attempt, Stage
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi import errors, objects
from rpcapi.resources.numa.cells import HostCell
from tests.unit.compute_agent.machines import BIG, node

NODE = "alpha/node0"
NIC, CARD, GPU = "CUSTOM_PCI_8086_154D", "CUSTOM_PCI_10DE_20B5", "VGPU"
MB_2, GB_1 = "CUSTOM_MEMORY_PAGES_2048KB", "CUSTOM_MEMORY_PAGES_1048576KB"


def intent(uuid: str, **amounts: dict[str, int]) -> Attempt:
    """``amounts`` by path, where "__" stands for "/" and "_" for the node."""
    allocations = {NODE if path == "_" else f"{NODE}/{path}": path_amounts for path, path_amounts in amounts.items()}
    return Attempt(uuid, 1, Stage.INTENT, 0, name=NODE, allocations=allocations)


def test_node_is_divided_into_providers() -> None:
    shape = node().shape
    assert sorted(shape.inventories) == ["DISK_GB"]
    assert shape.traits == ("COMPUTE_SOCKET_PCI_NUMA_AFFINITY", "HW_CPU_HYPERTHREADING")
    below = {entry.path: entry for entry in shape.child_providers}
    assert sorted(below) == [
        "0000:03:00.0",
        "numa0",
        "numa0/0000:01:00.0",
        "numa1",
        "numa1/0000:02:00.0",
        "numa1/gpu-0",
    ]
    assert all(entry.parent == (path.rpartition("/")[0]) for path, entry in below.items())
    cell = below["numa1"]
    assert cell.traits == ("HW_CPU_HYPERTHREADING", "HW_NUMA_ROOT")
    # eight CPUs, of which two are shared; 8 GiB, of which 1 GiB and 2 GiB are in huge pages
    assert {
        name: (entry.total, entry.capacity, entry.max_unit, entry.step_size) for name, entry in cell.inventories.items()
    } == {
        "VCPU": (2, 4, 2, 1),
        "PCPU": (6, 6, 6, 1),
        "MEMORY_MB": (5120, 5120, 5120, 1),
        MB_2: (1024, 1024, 1024, 2),
        GB_1: (2048, 2048, 2048, 1024),
    }
    nic = below["numa0/0000:01:00.0"]
    assert (nic.inventories[NIC].capacity, nic.traits) == (4, ("CUSTOM_PHYSNET_PHYSNET_0",))
    assert below["0000:03:00.0"].inventories[CARD].capacity == 1
    assert (below["numa1/gpu-0"].inventories[GPU].capacity, below["numa1/gpu-0"].traits) == (3, ("CUSTOM_A100",))


def test_configured_facts_are_reported() -> None:
    lines = [
        "hypervisor_type = QEMU",
        "hypervisor_version = 8002001",
        "supported_instances = x86_64:kvm:hvm,i686:kvm:hvm",
        "cpu_info = arch:x86_64,model:Skylake",
    ]
    assert node(BIG + "".join(f"    [shape:big]\n    {line}\n" for line in lines)).shape.facts == {
        "hypervisor_type": "QEMU",
        "hypervisor_version": 8002001,
        "supported_instances": [["x86_64", "kvm", "hvm"], ["i686", "kvm", "hvm"]],
        "cpu_info": {"arch": "x86_64", "model": "Skylake"},
    }
    assert node().shape.facts == {}


def test_cells_have_whole_cores_and_report_pinned_and_shared_cpus() -> None:
    cells_state = ResourceTracker([node()]).kind_reports(node())["numa"]
    cells = [HostCell.from_dict(entry) for entry in cells_state]
    assert cells[0].cores == ((1, 9), (2, 10), (3, 11))
    assert cells[1].cores == ((5, 13), (6, 14), (7, 15))
    assert [cell.shared for cell in cells] == [{0, 8}, {4, 12}]
    assert cells[0].pages == {2048: 512, 1048576: 2}


def test_guests_get_distinct_cpus_pages_and_units() -> None:
    tracker = ResourceTracker([node()])
    amounts: dict[str, Any] = {
        "numa0": {"PCPU": 2, MB_2: 4},
        "numa0/0000:01:00.0": {NIC: 2},
        "numa1/gpu-0": {GPU: 1},
    }
    attempts = []
    for uuid in "ab":
        admitted = tracker.admit(intent(uuid, **amounts), BuildRequirements())
        assert isinstance(admitted, Attempt)
        tracker.hold(admitted)
        attempts.append(admitted)
    assert [entry.assignments["pci"]["units"] for entry in attempts] == [
        {"numa0/0000:01:00.0": ["0000:01:00.1", "0000:01:00.2"]},
        {"numa0/0000:01:00.0": ["0000:01:00.3", "0000:01:00.4"]},
    ]
    assert [entry.assignments["device"]["units"] for entry in attempts] == [
        {"numa1/gpu-0": ["0"]},
        {"numa1/gpu-0": ["1"]},
    ]
    assert tracker.describe(attempts[1]) == (
        "numa1/gpu-0: 1; NUMA cell 0: CPUs 0>2 1>10, 2 pages of 2048 kB; numa0/0000:01:00.0: 0000:01:00.3 0000:01:00.4"
    )
    cell = HostCell.from_dict(tracker.kind_reports(node())["numa"][0])
    assert (cell.pinned, cell.used_pages[2048]) == ({1, 9, 2, 10}, 4)
    # when the first guest ends, the next one gets the same units
    tracker.drop(attempts[0].ref)
    again = tracker.admit(intent("c", **amounts), BuildRequirements())
    assert isinstance(again, Attempt)
    assert again.assignments == attempts[0].assignments


def test_topology_cells_are_assigned_to_host_cells() -> None:
    numa = {
        "cells": [
            {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 64},
            {"id": 1, "group": "_numa1", "cpus": [2, 3], "pcpus": [2], "memory_mb": 64},
        ],
        "cpu_policy": "mixed",
        "emulator_threads": "isolate",
    }
    groups = {
        "_numa0": {"resources": {"PCPU": 3, "MEMORY_MB": 64}},
        "_numa1": {"resources": {"PCPU": 1, "VCPU": 1, "MEMORY_MB": 64}},
        "_pci0": {"resources": {NIC: 1}},
    }
    spec = objects.RequestSpec.of(
        resources={"DISK_GB": 1}, groups=groups, groups_policy="none", numa=numa, same_subtree=[["_numa0", "_pci0"]]
    )
    amounts_by_path = {
        "_": {"DISK_GB": 1},
        "numa1": {"PCPU": 3, "MEMORY_MB": 64},
        "numa0": {"PCPU": 1, "VCPU": 1, "MEMORY_MB": 64},
        "numa1/0000:02:00.0": {NIC: 1},
    }
    tracker = ResourceTracker([node()])
    admitted = tracker.admit(intent("a", **amounts_by_path), BuildRequirements.from_spec(spec))
    assert isinstance(admitted, Attempt)
    assert tracker.describe(admitted) == (
        "NUMA cell 0: CPUs 2>1, CPUs 3 float; NUMA cell 1: CPUs 0>5 1>13, its emulator on 6; "
        "numa1/0000:02:00.0: 0000:02:00.1"
    )
    # and a device at the wrong cell is refused
    amounts_by_path["numa0/0000:01:00.0"] = amounts_by_path.pop("numa1/0000:02:00.0")
    assert tracker.admit(intent("b", **amounts_by_path), BuildRequirements.from_spec(spec)) == (
        f"node {NODE}: its allocations do not match its NUMA topology"
    )


def test_node_without_cells_refuses_a_topology() -> None:
    spec = objects.RequestSpec.of(
        resources={},
        groups={"_numa0": {"resources": {"VCPU": 1}}},
        numa={"cells": [{"id": 0, "group": "_numa0", "cpus": [0], "pcpus": [], "memory_mb": 64}]},
    )
    tracker = ResourceTracker([node("[compute]\nhosts = alpha\n")])
    assert (
        tracker.admit(intent("a", _={"VCPU": 1}), BuildRequirements.from_spec(spec))
        == f"node {NODE}: the node has no NUMA cells"
    )
    assert tracker.kind_reports(node("[compute]\nhosts = alpha\n")) == {}


def test_allocations_at_other_hosts_are_ignored() -> None:
    tracker = ResourceTracker([node()])
    admitted = tracker.admit(
        Attempt("a", 1, Stage.INTENT, 0, name=NODE, allocations={NODE: {"DISK_GB": 1}, "pool1": {"DISK_GB": 10**6}}),
        BuildRequirements(),
    )
    assert isinstance(admitted, Attempt)
    tracker.hold(admitted)
    assert tracker.excess() == {}
    assert tracker.used(NODE) == {"DISK_GB": 1}


@pytest.mark.parametrize(
    ("amounts_by_path", "why"),
    [
        ({"numa0": {"PCPU": 7}}, "provider alpha/node0/numa0 cannot give 7 PCPU: 0 of 6 are in use"),
        ({"numa2": {"PCPU": 1}}, "there is no provider alpha/node0/numa2 on this host"),
        ({"numa0": {MB_2: 3}}, f"provider alpha/node0/numa0 cannot give 3 {MB_2}: 0 of 1024 are in use"),
        ({"numa0": {"VCPU": 3}}, "provider alpha/node0/numa0 cannot give 3 VCPU: 0 of 4 are in use"),
    ],
)
def test_amounts_are_checked_per_provider(amounts_by_path: dict[str, dict[str, int]], why: str) -> None:
    assert ResourceTracker([node()]).admit(intent("a", **amounts_by_path), BuildRequirements()) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("vcpus = 15", "cannot be divided evenly among 2 NUMA cells"),
        ("memory_mb = 16383", "cannot be divided evenly"),
        ("cpu_dedicated_set = 1-", r"\[shape:big\] cpu_dedicated_set: '1-' is not a CPU number"),
        ("cpu_dedicated_set = 3-16", "has CPU 16 of 16 vcpus"),
        ("huge_pages = 2048:8000", "huge_pages exceed the memory of a NUMA cell by 7808 MiB"),
        ("huge_pages = 3000:1", "must be a size in kB"),
        ("huge_pages = big:1", "must be a size in kB"),
        ("pci_devices = nic", "'nic' is not NAME:COUNT"),
        ("pci_devices = nic:1@2", "'nic:1@2' has a cell that does not exist"),
        ("pci_devices = nic:256", "at most 255 devices"),
        ("devices = nic:1", r"no group \[device:nic\]"),
        ("supported_instances = x86_64", "must be ARCHITECTURE:HYPERVISOR:MODE"),
        ("[pci_device:nic]\nvendor_id = intel", "vendor_id"),
        ("[pci_device:nic]\nvendor_id =", r"\[pci_device:nic\] has no vendor_id|vendor_id"),
        ("[pci_device:nic]\ntraits = FAST", r"\[pci_device:nic\].*no trait 'FAST'"),
        ("[device:gpu]\nresource_class = GPUS", r"\[device:gpu\].*no resource class 'GPUS'"),
        ("[compute]\nhost_network = 10.0.0.0/33", "host_network"),
        ("[compute]\nhost_network = 10.0.0.0/31", "too small for hosts"),
    ],
)
def test_invalid_shape_aborts_the_start(line: str, why: str) -> None:
    section, _, rest = line.partition("\n") if line.startswith("[") else ("[shape:big]", "", line)
    with pytest.raises(errors.BadConfiguration, match=why):
        node(BIG + f"    {section}\n    {rest}\n")
