# SPDX-License-Identifier: Apache-2.0
"""Refusal of flavors and images that are invalid or contradict each other."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import volumes
from rpcapi.spec_builder.images import Image
from tests.unit.rpcapi.spec_builder.plain_request import request

CONTRADICTIONS = [
    ({"resources:VCPU": "x"}, {}, "must be a non-negative integer"),
    ({"trait:CUSTOM_A": "wanted"}, {}, "must be 'required' or 'forbidden'"),
    ({}, {"trait:CUSTOM_A": "forbidden"}, "of image 'i' must be 'required'"),
    ({"trait:CUSTOM_A": "forbidden"}, {"trait:CUSTOM_A": "required"}, "requires and forbids CUSTOM_A"),
    ({"trait1:CUSTOM_A": "required"}, {}, "group '1' requests no resources"),
    ({"group_policy": "apart"}, {}, "must be one of none, isolate"),
    ({"resources_numa0:VGPU": "1", "hw:numa_nodes": "1"}, {}, "suffix of group '_numa0' is reserved"),
    ({"hw:numa_nodes": "0"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "two"}, {}, "integer from 1 to 128"),
    ({"hw:numa_nodes": "3"}, {}, "does not divide 4 cpus"),
    ({"hw:numa_nodes": "2"}, {"hw_numa_nodes": "2"}, "the image may not set this value with this flavor"),
    ({"hw:numa_nodes": "2", "hw:numa_cpus.0": "0,1", "hw:numa_cpus.1": "2,3"}, {}, "must both be set for each of 2"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-4", "hw:numa_mem.0": "4096"}, {}, "contains cpu 4"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-2", "hw:numa_mem.0": "4096"}, {}, "lacks cpus 3"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "1"}, {}, "adds up to 1 MiB; the flavor has"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-", "hw:numa_mem.0": "1"}, {}, "not a set of cpus"),
    ({"hw:numa_nodes": "1", "hw:numa_cpus.0": "0-3", "hw:numa_mem.0": "0"}, {}, "integer of at least 1 (MiB)"),
    ({"hw:numa_nodes": "2", "hw:numa_cpus.0": "0-3", "hw:numa_cpus.1": "3", "hw:numa_mem.0": "1", "hw:numa_mem.1": "1"},
     {}, "assigns a cpu to two cells"),
    ({"hw:cpu_policy": "mine"}, {}, "must be one of shared, dedicated, mixed"),
    ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}, "may not set this value with this flavor"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"}, {"hw_cpu_policy": "dedicated"}, "may not set this"),
    ({"hw:cpu_policy": "mixed"}, {}, "exactly one of hw:cpu_dedicated_mask and hw:cpu_realtime_mask"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-3"}, {}, "must pin at least one cpu, but not all"),
    ({"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "9"}, {}, "contains cpus beyond the 4"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_dedicated_mask": "0"}, {}, "needs hw:cpu_policy 'mixed'"),
    ({"hw:cpu_policy": "dedicated", "resources:PCPU": "4"}, {}, "cannot be combined with resources:VCPU or"),
    ({"resources:VCPU": "2", "resources:PCPU": "4"}, {}, "cannot be combined with resources:VCPU"),
    ({"resources:PCPU": "3"}, {}, "must be 4, the number of cpus to pin"),
    ({"resources:PCPU": "4", "resources:MEMORY_MB": "1"}, {}, "is 1, but the cells"),
    ({"hw:cpu_policy": "dedicated", "resources1:MEMORY_MB": "1"}, {}, "with a NUMA topology, as its cells request it"),
    ({"hw:cpu_thread_policy": "require"}, {}, "needs pinned cpus"),
    ({"hw:emulator_threads_policy": "isolate"}, {}, "needs pinned cpus"),
    ({"hw:cpu_realtime": "true", "hw:cpu_realtime_mask": "^0"}, {}, "needs pinned cpus"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "true"}, {}, "and not all cpus unless"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, {"hw_cpu_thread_policy": "require"}, "may not"),
    ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate", "trait:HW_CPU_HYPERTHREADING": "required"}, {},
     "cannot be combined with hw:cpu_thread_policy"),
    ({"hw:mem_page_size": "huge"}, {}, "a size such as 2MB"),
    ({"hw:mem_page_size": "3"}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({}, {"hw_mem_page_size": "2048"}, "which needs hw:mem_page_size any or large"),
    ({"hw:mem_page_size": "3MB"}, {}, "pages of 3072 KiB do not divide"),
    ({"hw:locked_memory": "true"}, {}, "needs hw:mem_page_size"),
    ({"pci_passthrough:alias": "QuickAssist"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:0"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:65"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "nothing:1"}, {}, "names unknown PCI alias 'nothing'; known: QuickAssist"),
    ({"hw:pci_numa_affinity_policy": "near"}, {}, "must be one of required, legacy, preferred, socket"),
    ({"accel:device_profile": "none"}, {}, "names unknown device profile 'none'; known: fpga"),
    ({"hw:mem_encryption": "true"}, {}, "needs an image with hw_firmware_type=uefi"),
    ({"hw:mem_encryption": "true"}, {"hw_mem_encryption": "false"}, "the image may not set"),
    ({"hw:mem_encryption": "true", "hw:mem_encryption_model": "rot13"}, {"hw_firmware_type": "uefi"}, "must be one of"),
    ({"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-crb"}, {}, "needs hw:tpm_version 2.0"),
    ({"os:secure_boot": "optional"}, {"os_secure_boot": "required"}, "the image may not set"),
    ({"resources:VCPU": "0", "hw:numa_nodes": "1"}, {}, "is 0, but the cells"),
    ({"os:secure_boot": "maybe"}, {}, "must be one of required, disabled, optional"),
]  # fmt: skip


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def test_image_with_a_larger_minimum_than_the_flavor_is_refused():
    with pytest.raises(errors.InvalidSpec, match="needs 8192 MiB of memory, and flavor 'f' has 4096"):
        request({}, image=Image("big", min_ram_mb=8192))
    with pytest.raises(errors.InvalidSpec, match="needs 20 GiB of disk"):
        request({}, image=Image("big", min_disk_gb=20))
    image = Image("big", disk_format="qcow2", min_disk_gb=20)
    booted = request({}, image=image, attached_volumes=[volumes.read({"size": "20", "boot": "true"})])
    assert booted.image == {"id": "big", "name": "big"}
