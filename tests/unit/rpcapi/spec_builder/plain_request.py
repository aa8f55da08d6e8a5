# SPDX-License-Identifier: Apache-2.0
"""Requests of a flavor with 4 CPUs, 4096 MiB and 10 GiB, with a catalog of aliases and profiles."""

from rpcapi.spec_builder import device_profiles, pci
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image

QAT = '{"name": "QuickAssist", "vendor_id": "8086", "product_id": "0443", "numa_policy": "required"}'
NIC = '{"name": "nic", "resource_class": "fast nic", "traits": "physnet-a,HW_NIC_SRIOV"}'
ANY = '{"name": "any", "vendor_id": "10DE", "product_id": "1db6", "numa_policy": "preferred"}'
CATALOG = Catalog(
    pci.parse([QAT, NIC, ANY]),
    {
        "fpga": device_profiles.parse_profile(
            "fpga", [{"resources:FPGA": "1", "trait:CUSTOM_AES": "required"}, {"resources:VGPU": "2"}]
        ),
    },
    large_page_kb=1048576,
)
PLAIN = {"VCPU": 4, "MEMORY_MB": 4096, "DISK_GB": 10}


def request(extra_specs, properties=None, image=None, **values):
    flavor = Flavor("f", vcpus=4, memory_mb=4096, disk_gb=10, extra_specs=extra_specs)
    return build_spec(flavor, image or Image("i", properties=properties or {}), CATALOG, **values)


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
