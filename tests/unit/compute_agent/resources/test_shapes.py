# SPDX-License-Identifier: Apache-2.0
"""Node shapes: their providers, facts and invalid options."""

import pytest

from rpcapi import errors
from tests.support.agent.machines import BIG, node

NIC, CARD, GPU = "CUSTOM_PCI_8086_154D", "CUSTOM_PCI_10DE_20B5", "VGPU"


MB_2, GB_1 = "CUSTOM_MEMORY_PAGES_2048KB", "CUSTOM_MEMORY_PAGES_1048576KB"


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
        ("pci_devices = nic:1@2", "'nic:1@2' names a missing cell"),
        ("pci_devices = nic:256", "at most 255 devices"),
        ("devices = nic:1", r"no group \[device:nic\]"),
        ("supported_instances = x86_64", "must be ARCHITECTURE:HYPERVISOR:MODE"),
        ("[pci_device:nic]\nvendor_id = intel", "vendor_id"),
        ("[pci_device:nic]\nvendor_id =", r"\[pci_device:nic\] has no vendor_id|vendor_id"),
        ("[pci_device:nic]\ntraits = FAST", r"\[pci_device:nic\].*Unknown trait 'FAST'"),
        ("[device:gpu]\nresource_class = GPUS", r"\[device:gpu\].*Unknown resource class 'GPUS'"),
        ("[compute]\nhost_network = 10.0.0.0/33", "host_network"),
        ("[compute]\nhost_network = 10.0.0.0/31", "too small for hosts"),
    ],
)
def test_invalid_shape_aborts_the_start(line: str, why: str) -> None:
    section, _, rest = line.partition("\n") if line.startswith("[") else ("[shape:big]", "", line)
    with pytest.raises(errors.BadConfiguration, match=why):
        node(BIG + f"    {section}\n    {rest}\n")
