# SPDX-License-Identifier: Apache-2.0
"""Flavors and images that contradict themselves or each other."""

import pytest

from rpcapi import errors
from rpcapi.edge import volumes
from rpcapi.model.images import Image
from tests.unit.rpcapi.edge.wishes import request

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
    booted = request({}, image=image, attached_volumes=[volumes.read({"size": "20", "boot": "true"})])
    assert booted.image == {"id": "big", "name": "big"}
