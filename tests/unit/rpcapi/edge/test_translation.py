# SPDX-License-Identifier: Apache-2.0
"""What flavors, images, devices, ports and volumes ask for, by examples; Nova's documented ones among them."""

import pytest

from rpcapi import errors
from rpcapi.edge import devices, ports, volumes
from rpcapi.edge.catalog import Catalog
from rpcapi.model import pci
from rpcapi.model.flavors import Flavor
from rpcapi.model.images import Image

QAT = '{"name": "QuickAssist", "vendor_id": "8086", "product_id": "0443", "numa_policy": "required"}'
NIC = '{"name": "nic", "resource_class": "fast nic", "traits": "physnet-a,HW_NIC_SRIOV"}'
ANY = '{"name": "any", "vendor_id": "10DE", "product_id": "1db6", "numa_policy": "preferred"}'
CATALOG = Catalog(
    pci.parse([QAT, NIC, ANY]),
    {
        "fpga": devices.profile(
            "fpga", [{"resources:FPGA": "1", "trait:CUSTOM_AES": "required"}, {"resources:VGPU": "2"}]
        ),
    },
    large_page_kb=1048576,
)
PLAIN = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 10}


def request(extra_specs, properties=None, image=None, **values):
    flavor = Flavor("f", vcpus=4, memory_mb=4096, disk_gb=10, extra_specs=extra_specs)
    return flavor.request(image or Image("i", properties=properties or {}), CATALOG, **values)


def cell(number, cpus, pcpus, memory_mb):
    return {"id": number, "group": f"_numa{number}", "cpus": cpus, "pcpus": pcpus, "memory_mb": memory_mb}


def numa(*cells, policy="shared", threads=None, page=None, **more):
    return {"cells": list(cells), "cpu_policy": policy, "thread_policy": threads, "page_size_kb": page, **more}


def group(**resources):
    return {"resources": resources, "required": ["HW_NUMA_ROOT"]}


ALL = [0, 1, 2, 3]
ONE_CELL = cell(0, ALL, [], 4096)
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
        {"resources:CUSTOM_GOLD": "1"} | {f"resources:{each}": "0" for each in PLAIN},
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
    "a class of a group is not asked twice": (
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
    "traits of a root that gives nothing": (
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
    "the emulator has a cpu of its own": (
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
            "numa": numa(ONE_CELL, page=2048),
        },
    ),
    "large pages": ({"hw:mem_page_size": "large"}, {}, {"numa": numa(ONE_CELL, page=1048576)}),
    "large pages, the image chooses": (
        {"hw:mem_page_size": "large"},
        {"hw_mem_page_size": "2048"},
        {"numa": numa(ONE_CELL, page=2048)},
    ),
    "any pages": ({"hw:mem_page_size": "any"}, {}, {"groups": FLOATING, "numa": numa(ONE_CELL)}),
    "small pages": ({"hw:mem_page_size": "small"}, {}, {"groups": FLOATING, "numa": numa(ONE_CELL)}),
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
        {"numa": numa(ONE_CELL, devices={"_pci0": "required"}), "same_subtree": [["_numa0", "_pci0"]]},
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
        {"numa": numa(ONE_CELL, devices={"_pci0": "legacy"}), "same_subtree": []},
    ),
    "a policy for all devices": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "1"},
        {"hw_pci_numa_affinity_policy": "preferred"},
        {"numa": numa(ONE_CELL), "same_subtree": []},
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
            "numa": numa(ONE_CELL),
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
    "what only filters and hypervisors read is carried": (
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
def test_an_example_asks_for_what_it_says(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


CONTRADICTIONS = [
    ({"resources:VCPU": "x"}, {}, "must be an integer from 0 up"),
    ({"trait:CUSTOM_A": "wanted"}, {}, "must be 'required' or 'forbidden'"),
    ({}, {"trait:CUSTOM_A": "forbidden"}, "of image 'i' must be 'required'"),
    ({"trait:CUSTOM_A": "forbidden"}, {"trait:CUSTOM_A": "required"}, "requires and forbids CUSTOM_A"),
    ({"trait1:CUSTOM_A": "required"}, {}, "group '1' asks for no resources"),
    ({"group_policy": "apart"}, {}, "must be one of none, isolate"),
    ({"resources_numa0:VGPU": "1", "hw:numa_nodes": "1"}, {}, "may not have a group '_numa0'"),
    ({"hw:numa_nodes": "0"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "two"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "3"}, {}, "does not divide 4 cpus"),
    ({"hw:numa_nodes": "2"}, {"hw_numa_nodes": "2"}, "the image may not ask for that beside this flavor"),
    ({"hw:numa_nodes": "2", "hw:numa_cpus.0": "0,1", "hw:numa_cpus.1": "2,3"}, {}, "must both be there for each of 2"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-4", "hw:numa_mem.0": "4096"}, {}, "names cpu 4"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-2", "hw:numa_mem.0": "4096"}, {}, "leaves out cpus 3"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "1"}, {}, "comes to 1 MiB; the flavor has 4096"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-", "hw:numa_mem.0": "1"}, {}, "no set of cpus"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "0"}, {}, "integer of MiB from 1 up"),
    ({"hw:numa_nodes": "2", "hw:numa_cpus.0": "0-3", "hw:numa_cpus.1": "3", "hw:numa_mem.0": "1", "hw:numa_mem.1": "1"},
     {}, "names a cpu for two cells"),
    ({"hw:cpu_policy": "mine"}, {}, "must be one of shared, dedicated, mixed"),
    ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}, "may not ask for that beside this flavor"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, {"hw_cpu_policy": "dedicated"}, "may not ask for that"),
    ({"hw:cpu_policy": "mixed"}, {}, "one of hw:cpu_dedicated_mask and hw:cpu_realtime_mask"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-3"}, {}, "must pin some of the cpus, and leave some"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "9"}, {}, "names cpus beyond the 4"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_dedicated_mask": "0"}, {}, "is for hw:cpu_policy 'mixed'"),
    ({"hw:cpu_policy": "dedicated", "resources:PCPU": "4"}, {}, "cannot be beside resources:VCPU or resources:PCPU"),
    ({"resources:VCPU": "2", "resources:PCPU": "4"}, {}, "cannot be beside resources:VCPU"),
    ({"resources:PCPU": "3"}, {}, "must be 4, as many as there are cpus"),
    ({"resources:PCPU": "4", "resources:MEMORY_MB": "1"}, {}, "is 1, but the cells"),
    ({"hw:cpu_policy": "dedicated", "resources1:MEMORY_MB": "1"}, {}, "beside a NUMA topology, whose cells have it"),
    ({"hw:cpu_thread_policy": "require"}, {}, "is for pinned cpus"),
    ({"hw:emulator_threads_policy": "isolate"}, {}, "is for pinned cpus"),
    ({"hw:cpu_realtime": "true", "hw:cpu_realtime_mask": "^0"}, {}, "is for pinned cpus"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "true"}, {}, "leave one"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, {"hw_cpu_thread_policy": "require"}, "may not"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate", "trait:HW_CPU_HYPERTHREADING": "required"}, {},
     "cannot be beside hw:cpu_thread_policy"),
    ({"hw:mem_page_size": "huge"}, {}, "a size such as 2MB"),
    ({"hw:mem_page_size": "3"}, {"hw_mem_page_size": "2048"}, "it may choose beside hw:mem_page_size any or large"),
    ({}, {"hw_mem_page_size": "2048"}, "it may choose beside hw:mem_page_size any or large"),
    ({"hw:mem_page_size": "3MB"}, {}, "pages of 3072 KiB do not divide"),
    ({"hw:locked_memory": "true"}, {}, "needs hw:mem_page_size"),
    ({"pci_passthrough:alias": "QuickAssist"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:0"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:65"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "nothing:1"}, {}, "names PCI alias 'nothing', which is not there; known: QuickAssist"),
    ({"hw:pci_numa_affinity_policy": "near"}, {}, "must be one of required, legacy, preferred, socket"),
    ({"accel:device_profile": "none"}, {}, "names device profile 'none', which is not there; known: fpga"),
    ({"hw:mem_encryption": "true"}, {}, "needs an image with hw_firmware_type=uefi"),
    ({"hw:mem_encryption": "true"}, {"hw_mem_encryption": "false"}, "the image may not ask"),
    ({"hw:mem_encryption": "true", "hw:mem_encryption_model": "rot13"}, {"hw_firmware_type": "uefi"}, "must be one of"),
    ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, {}, "is for hw:tpm_version 2.0"),
    ({"os:secure_boot": "optional"}, {"os_secure_boot": "required"}, "the image may not ask"),
    ({"resources:VCPU": "0", "hw:numa_nodes": "1"}, {}, "is 0, but the cells"),
    ({"os:secure_boot": "maybe"}, {}, "must be one of required, disabled, optional"),
]  # fmt: skip


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def test_an_image_that_the_flavor_is_too_small_for_is_refused():
    with pytest.raises(errors.InvalidSpec, match="needs 8192 MiB of memory, and flavor 'f' has 4096"):
        request({}, image=Image("big", min_ram_mb=8192))
    with pytest.raises(errors.InvalidSpec, match="needs 20 GiB of disk"):
        request({}, image=Image("big", min_disk_gb=20))
    image = Image("big", disk_format="qcow2", min_disk_gb=20)
    booted = request({}, image=image, attached_volumes=[volumes.read(BOOT)])
    assert booted.image == {"id": "big", "name": "big"}


BOOT = {"size": "20", "pool": "pool1", "boot": "true"}


def test_a_volume_that_is_made_asks_a_pool_for_its_space_and_may_be_the_root_disk():
    spec = request({}, attached_volumes=[volumes.read(BOOT), volumes.read({"pool": "pool2"})])
    assert spec.resources == {"VCPU": 4, "MEMORY_MB": 4096}
    asked = {"resources": {"DISK_GB": 20}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "pool1"}
    assert spec.groups == {"_vol0": asked}
    assert spec.volumes == [{"size_gb": 20, "group": "_vol0"}, {"pool": "pool2"}]


def test_a_port_asks_for_its_bandwidth_by_its_network_and_else_tells_where_it_is():
    told = {"egress_kbps": "1000", "physnet": "net-0", "vnic": "normal", "segment": "s1"}
    spec = request({}, attached_ports=[ports.read(told), ports.read({"physnet": "net-1"})])
    assert spec.groups == {
        "_port0": {
            "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
            "required": ["CUSTOM_PHYSNET_NET_0", "CUSTOM_VNIC_TYPE_NORMAL"],
        }
    }
    assert spec.ports == [{"segment": "s1", "group": "_port0"}, {"physnet": "net-1"}]
    assert spec.resources == PLAIN


@pytest.mark.parametrize(
    ("read", "told", "sentence"),
    [
        (volumes.read, {}, "told by its size"),
        (volumes.read, {"size": "0"}, "GiB from 1 up"),
        (volumes.read, {"size": "1", "boot": "maybe"}, "true or false"),
        (volumes.read, {"colour": "red"}, "has no 'colour'"),
        (ports.read, {}, "told by"),
        (ports.read, {"egress_kbps": "-1"}, "from 0 up"),
        (ports.read, {"vnic": "direct"}, "takes none"),
        (ports.read, {"colour": "red"}, "has no 'colour'"),
    ],
)
def test_what_is_no_volume_and_no_port_is_refused(read, told, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        read(told)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense", "is no JSON"),
        ("[]", "must be a JSON object of texts"),
        ('{"vendor_id": "8086"}', "has no name"),
        ('{"name": "a", "vendor_id": "8086"}', "needs a resource_class, or vendor_id and product_id"),
        ('{"name": "a", "vendor_id": "80860", "product_id": "0443"}', "four hex digits"),
        ('{"name": "a", "resource_class": "x", "colour": "red"}', "unknown key 'colour'"),
        ('{"name": "a", "resource_class": "x", "numa_policy": "near"}', "numa_policy of alias 'a'"),
        ('{"name": "a", "resource_class": "x", "device_type": "card"}', "device_type of alias 'a'"),
    ],
)
def test_an_alias_that_is_none_is_bad_configuration(text, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        pci.parse([text])
    assert sentence in caught.value.sentence


def test_an_alias_of_two_meanings_is_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="'a' is there twice"):
        pci.parse(['{"name": "a", "resource_class": "x"}', '{"name": "a", "resource_class": "y"}'])


@pytest.mark.parametrize("told", [{}, {"trait:CUSTOM_A": "required"}, {"resources1:VGPU": "1"}, {"colour": "red"}])
def test_a_device_profile_needs_groups_that_ask_for_something(told):
    with pytest.raises(errors.InvalidSpec, match="device profile 'p'"):
        devices.profile("p", [told])
