# SPDX-License-Identifier: Apache-2.0
"""Examples of the translation of flavors, images and devices, including those in Nova's documentation."""

import pytest

from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, request


def cell(number, cpus, pcpus, memory_mb):
    return {"id": number, "group": f"_numa{number}", "cpus": cpus, "pcpus": pcpus, "memory_mb": memory_mb}


def numa(*cells, policy="shared", threads=None, page=None, **more):
    return {"cells": list(cells), "cpu_policy": policy, "thread_policy": threads, "page_size_kb": page, **more}


def group(**resources):
    return {"resources": resources, "required": ["HW_NUMA_ROOT"]}


ALL = [0, 1, 2, 3]
SINGLE_CELL = cell(0, ALL, [], 4096)
PINNED = cell(0, ALL, ALL, 4096)
FLOATING = {"_numa0": group(VCPU=4, MEMORY_MB=4096)}
PINS = {"_numa0": group(PCPU=4, MEMORY_MB=4096)}
DISK = {"DISK_GB": 10}

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "nothing": ({}, {}, {"resources": PLAIN, "groups": {}, "numa": {}, "groups_policy": None}),
    "resources in place": (
        {"resources:VCPU": "2", "resources:DISK_GB": "0", "resources:CUSTOM_GOLD": "1"},
        {},
        {"resources": {"VCPU": 2, "MEMORY_MB": 4096, "CUSTOM_GOLD": 1}},
    ),
    "bare metal": (
        {"resources:CUSTOM_GOLD": "1"} | {f"resources:{resource_class}": "0" for resource_class in PLAIN},
        {},
        {"resources": {"CUSTOM_GOLD": 1}},
    ),
    "numbered groups": (
        {
            "resources1:VGPU": "1",
            "trait1:CUSTOM_A": "required",
            "resources2:VGPU": "1",
            "trait2:CUSTOM_B": "forbidden",
            "group_policy": "isolate",
        },
        {},
        {
            "resources": PLAIN,
            "groups": {
                "1": {"resources": {"VGPU": 1}, "required": ["CUSTOM_A"]},
                "2": {"resources": {"VGPU": 1}, "forbidden": ["CUSTOM_B"]},
            },
            "groups_policy": "isolate",
        },
    ),
    "groups without a policy": (
        {"resources1:VGPU": "1", "resources_b:FPGA": "1"},
        {},
        {"groups": {"1": {"resources": {"VGPU": 1}}, "_b": {"resources": {"FPGA": 1}}}, "groups_policy": "none"},
    ),
    "a class of a group is not requested twice": (
        {"resources1:VCPU": "4", "resources1:MEMORY_MB": "4096"},
        {},
        {"resources": DISK, "groups": {"1": {"resources": {"VCPU": 4, "MEMORY_MB": 4096}}}},
    ),
    "pinned amounts of a group": (
        {"resources1:PCPU": "2"},
        {},
        {"resources": {"MEMORY_MB": 4096, "DISK_GB": 10}, "groups": {"1": {"resources": {"PCPU": 2}}}, "numa": {}},
    ),
    "traits of both": (
        {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"},
        {"trait:CUSTOM_C": "required", "trait:CUSTOM_A": "required"},
        {"required_traits": ["CUSTOM_A", "CUSTOM_C"], "forbidden_traits": ["CUSTOM_B"]},
    ),
    "traits of the root when it has no resources": (
        {"trait:CUSTOM_A": "required", "resources:DISK_GB": "0", "hw:numa_nodes": "1"},
        {},
        {"resources": {}, "required_traits": [], "root_required": ["CUSTOM_A"], "groups": FLOATING},
    ),
    "two cells": (
        {"hw:numa_nodes": "2"},
        {},
        {
            "resources": DISK,
            "groups": {f"_numa{n}": group(VCPU=2, MEMORY_MB=2048) for n in (0, 1)},
            "groups_policy": "isolate",
            "numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048)),
        },
    ),
    "cells by the image": (
        {},
        {"hw_numa_nodes": "2"},
        {"numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048))},
    ),
    "unlike cells": (
        {
            "hw:numa_nodes": "2",
            "hw:numa_cpus.0": "0,2",
            "hw:numa_cpus.1": "1,3",
            "hw:numa_mem.0": "1024",
            "hw:numa_mem.1": "3072",
        },
        {},
        {
            "groups": {"_numa0": group(VCPU=2, MEMORY_MB=1024), "_numa1": group(VCPU=2, MEMORY_MB=3072)},
            "numa": numa(cell(0, [0, 2], [], 1024), cell(1, [1, 3], [], 3072)),
        },
    ),
    "pinned": (
        {"hw:cpu_policy": "dedicated"},
        {},
        {"resources": DISK, "groups": PINS, "numa": numa(PINNED, policy="dedicated")},
    ),
    "pinned by the image": ({}, {"hw_cpu_policy": "dedicated"}, {"numa": numa(PINNED, policy="dedicated")}),
    "a flavor that pins wins over an image that shares": (
        {"hw:cpu_policy": "dedicated"},
        {"hw_cpu_policy": "shared"},
        {"numa": numa(PINNED, policy="dedicated")},
    ),
    "pinned by PCPU": ({"resources:PCPU": "4"}, {}, {"groups": PINS, "numa": numa(PINNED, policy="dedicated")}),
    "pinned by PCPU, and VCPU taken back": (
        {"resources:PCPU": "4", "resources:VCPU": "0"},
        {},
        {"resources": DISK, "groups": PINS},
    ),
    "shared by name": ({"hw:cpu_policy": "shared"}, {}, {"resources": PLAIN, "numa": {}}),
    "mixed": (
        {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0-1"},
        {},
        {
            "groups": {"_numa0": group(VCPU=2, PCPU=2, MEMORY_MB=4096)},
            "numa": numa(cell(0, ALL, [2, 3], 4096), policy="mixed"),
        },
    ),
    "mixed by a realtime mask": (
        {"hw:cpu_policy": "mixed", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "1"},
        {},
        {"numa": numa(cell(0, ALL, [1], 4096), policy="mixed")},
    ),
    "threads beside each other": (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require"},
        {},
        {
            "groups": {"_numa0": PINS["_numa0"] | {"required": ["HW_NUMA_ROOT", "HW_CPU_HYPERTHREADING"]}},
            "numa": numa(PINNED, policy="dedicated", threads="require"),
        },
    ),
    "no threads, by the image": (
        {"hw:cpu_policy": "dedicated"},
        {"hw_cpu_thread_policy": "isolate"},
        {
            "groups": {"_numa0": PINS["_numa0"] | {"forbidden": ["HW_CPU_HYPERTHREADING"]}},
            "numa": numa(PINNED, policy="dedicated", threads="isolate"),
        },
    ),
    "a flavor that prefers threads goes before its image": (
        {"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "prefer"},
        {"hw_cpu_thread_policy": "require"},
        {"numa": numa(PINNED, policy="dedicated", threads="prefer")},
    ),
    "threads by trait": (
        {"hw:cpu_policy": "dedicated", "trait:HW_CPU_HYPERTHREADING": "required"},
        {},
        {"numa": numa(PINNED, policy="dedicated", threads="require")},
    ),
    "isolated emulator threads": (
        {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
        {},
        {
            "groups": {"_numa0": group(PCPU=5, MEMORY_MB=4096)},
            "numa": numa(PINNED, policy="dedicated", emulator_threads="isolate"),
        },
    ),
    "huge pages": (
        {"hw:mem_page_size": "2MB"},
        {},
        {
            "groups": {"_numa0": group(VCPU=4, CUSTOM_MEMORY_PAGES_2048KB=4096)},
            "numa": numa(SINGLE_CELL, page=2048),
        },
    ),
    "large pages": ({"hw:mem_page_size": "large"}, {}, {"numa": numa(SINGLE_CELL, page=1048576)}),
    "large pages, the image chooses": (
        {"hw:mem_page_size": "large"},
        {"hw_mem_page_size": "2048"},
        {"numa": numa(SINGLE_CELL, page=2048)},
    ),
    "any pages": ({"hw:mem_page_size": "any"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "small pages": ({"hw:mem_page_size": "small"}, {}, {"groups": FLOATING, "numa": numa(SINGLE_CELL)}),
    "pages of 4 KiB are small ones": ({"hw:mem_page_size": "4"}, {}, {"groups": FLOATING}),
    "a device": (
        {"pci_passthrough:alias": "QuickAssist:1"},
        {},
        {"resources": PLAIN, "groups": {"_pci0": {"resources": {"CUSTOM_PCI_8086_0443": 1}}}, "numa": {}},
    ),
    "devices of two kinds": (
        {"pci_passthrough:alias": "QuickAssist:1, nic:2"},
        {},
        {
            "groups": {
                "_pci0": {"resources": {"CUSTOM_PCI_8086_0443": 1}},
                **{
                    f"_pci{n}": {
                        "resources": {"CUSTOM_FAST_NIC": 1},
                        "required": ["CUSTOM_PHYSNET_A", "HW_NIC_SRIOV"],
                    }
                    for n in (1, 2)
                },
            },
            "groups_policy": "none",
        },
    ),
    "a device of the one cell": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "1"},
        {},
        {"numa": numa(SINGLE_CELL, devices={"_pci0": "required"}), "same_subtree": [["_numa0", "_pci0"]]},
    ),
    "a device of one of two cells": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "2"},
        {},
        {
            "numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048), devices={"_pci0": "required"}),
            "same_subtree": [],
            "groups_policy": "none",
        },
    ),
    "a device of any cell, or of none": (
        {"pci_passthrough:alias": "nic:1,any:1", "hw:numa_nodes": "1"},
        {},
        {"numa": numa(SINGLE_CELL, devices={"_pci0": "legacy"}), "same_subtree": []},
    ),
    "a policy for all devices": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "1"},
        {"hw_pci_numa_affinity_policy": "preferred"},
        {"numa": numa(SINGLE_CELL), "same_subtree": []},
    ),
    "a device of the socket": (
        {"pci_passthrough:alias": "any:1", "hw:pci_numa_affinity_policy": "socket"},
        {},
        {"root_required": ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]},
    ),
    "a device profile": (
        {"accel:device_profile": "fpga"},
        {},
        {
            "groups": {
                "_dev0": {"resources": {"FPGA": 1}, "required": ["CUSTOM_AES"]},
                "_dev1": {"resources": {"VGPU": 2}},
            },
            "groups_policy": "none",
        },
    ),
    "encrypted memory": (
        {"hw:mem_encryption": "true"},
        {"hw_firmware_type": "uefi"},
        {"resources": PLAIN | {"MEM_ENCRYPTION_CONTEXT": 1}, "required_traits": ["HW_CPU_X86_AMD_SEV"]},
    ),
    "a TPM": (
        {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"},
        {"hw_tpm_version": "2.0"},
        {"required_traits": ["COMPUTE_SECURITY_TPM_CRB", "COMPUTE_SECURITY_TPM_2_0"]},
    ),
    "secure boot": ({}, {"os_secure_boot": "required"}, {"required_traits": ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"]}),
    "secure boot as it comes": ({"os:secure_boot": "optional"}, {}, {"required_traits": []}),
    "persistent memory": (
        {"hw:pmem": "6GB, 6GB,16GB"},
        {},
        {
            "resources": DISK | {"CUSTOM_PMEM_NAMESPACE_6GB": 2, "CUSTOM_PMEM_NAMESPACE_16GB": 1},
            "numa": numa(SINGLE_CELL),
        },
    ),
    "an address space": (
        {"hw:maxphysaddr_mode": "emulate"},
        {},
        {"required_traits": ["COMPUTE_ADDRESS_SPACE_EMULATED"]},
    ),
    "firmware without state": (
        {},
        {"hw_firmware_type": "uefi", "hw_firmware_stateless": "yes"},
        {"required_traits": ["COMPUTE_SECURITY_STATELESS_FIRMWARE"]},
    ),
    "firmware that is no UEFI": ({}, {"hw_firmware_stateless": "yes"}, {"required_traits": []}),
    "other extra specs and properties are passed on": (
        SPECS := {"capabilities:hypervisor_type": "s== QEMU", "hw:hide_hypervisor_id": "true", "quota:cpu_shares": "1"},
        {"architecture": "x86_64", "vm_mode": "hvm", "img_hv_type": "kvm", "os_distro": "debian"},
        {
            "resources": PLAIN,
            "extra_specs": SPECS,
            "image": {
                "id": "i",
                "name": "i",
                "properties": {
                    "hw_architecture": "x86_64",
                    "hw_vm_mode": "hvm",
                    "img_hv_type": "kvm",
                    "os_distro": "debian",
                },
            },
        },
    ),
}


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_example_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields
