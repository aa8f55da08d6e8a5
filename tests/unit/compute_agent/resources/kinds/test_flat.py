# SPDX-License-Identifier: Apache-2.0
"""CPUs, memory and disk of the node itself."""

import pytest

from compute_agent.resources.kinds import flat
from rpcapi import errors
from tests.support.agent.machines import node

HEAD = "[compute]\nhosts = alpha\n[shape:x]\n"


def inventories(*lines):
    return node(HEAD + "".join(f"{line}\n" for line in lines)).shape.inventories


def test_amounts_reservations_and_ratios_belong_to_the_node():
    amounts = inventories(
        *("vcpus = 10", "reserved_vcpus = 2", "cpu_allocation_ratio = 1.5"),
        *("memory_mb = 1000", "reserved_memory_mb = 100", "ram_allocation_ratio = 2"),
        *("disk_gb = 50", "reserved_disk_gb = 5", "resources = VGPU:4"),
    )
    assert {name: (amount.total, amount.reserved, amount.capacity) for name, amount in amounts.items()} == {
        "VCPU": (10, 2, 12),
        "MEMORY_MB": (1000, 100, 1800),
        "DISK_GB": (50, 5, 45),
        "VGPU": (4, 0, 4),
    }


def test_class_without_amount_is_not_reported():
    assert sorted(inventories("disk_gb = 0", "resources = VGPU:0")) == ["MEMORY_MB", "VCPU"]


def test_node_with_cells_has_its_cpus_and_memory_in_them():
    assert sorted(inventories("numa_cells = 2", "vcpus = 8", "memory_mb = 1024")) == ["DISK_GB"]


def test_reservation_above_the_total_names_the_shape():
    with pytest.raises(errors.BadConfiguration, match=r"\[shape:x\].*reserved 5 exceeds the total"):
        flat.inventory("shape:x", "VCPU", total=4, reserved=5)


def test_unknown_class_names_the_shape():
    with pytest.raises(errors.BadConfiguration, match=r"\[shape:x\].*Unknown resource class 'GPUS'"):
        flat.inventory("shape:x", "GPUS", total=4)


def test_traits_are_sorted_and_checked():
    assert flat.traits("shape:x", ["HW_CPU_X86_AVX2", "CUSTOM_FAST"]) == ("CUSTOM_FAST", "HW_CPU_X86_AVX2")
    with pytest.raises(errors.BadConfiguration, match=r"\[shape:x\].*Unknown trait 'FAST'"):
        flat.traits("shape:x", ["FAST"])
