# SPDX-License-Identifier: Apache-2.0
"""Arbitrary extra specs and image properties result in a valid request or a typed error."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.objects.request_schema import check_spec
from rpcapi.spec_builder import device_profiles, pci
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image

CATALOG = Catalog(
    pci.parse(['{"name": "a", "resource_class": "CUSTOM_A", "numa_policy": "required"}']),
    {"p": device_profiles.parse_profile("p", [{"resources:FPGA": "1"}])},
)
HARDWARE = (
    *("numa_nodes", "numa_cpus.0", "numa_cpus.1", "numa_mem.0", "numa_mem.1", "cpu_policy", "cpu_thread_policy"),
    *("cpu_dedicated_mask", "cpu_realtime", "cpu_realtime_mask", "emulator_threads_policy", "mem_page_size"),
    *("pci_numa_affinity_policy", "tpm_version", "mem_encryption", "firmware_type", "pmem", "locked_memory"),
)
OTHERS = (
    *(
        "resources:VCPU",
        "resources:PCPU",
        "resources:MEMORY_MB",
        "resources:VGPU",
        "resources1:VGPU",
        "resources2:PCPU",
    ),
    *("trait:HW_CPU_HYPERTHREADING", "trait1:CUSTOM_A", "trait:NOPE", "group_policy", "pci_passthrough:alias"),
    *("accel:device_profile", "capabilities:cpu_info:vendor", "resources", "resources_numa0:FPGA", "os:secure_boot"),
)
VALUES = (
    st.sampled_from(["0", "1", "2", "4", "2048", "4096", "2MB", "1GB", "0-1", "0,2", "1,3", "2-3", "^0", "^0-1", "2.0"])
    | st.sampled_from(["true", "required", "forbidden", "none", "isolate", "prefer", "require", "shared", "dedicated"])
    | st.sampled_from(["mixed", "large", "any", "small", "a:1", "a:2", "p", "uefi", "legacy", "socket", "share"])
    | st.text(max_size=6)
)
FLAVORS = st.builds(
    Flavor,
    st.just("f"),
    vcpus=st.sampled_from([4, 4, 2, 0]),
    memory_mb=st.sampled_from([4096, 4096, 1024, 0]),
    disk_gb=st.sampled_from([0, 10]),
)
BEGINNINGS = st.sampled_from(
    [
        {},
        {"hw:cpu_policy": "dedicated"},
        {"hw:numa_nodes": "2"},
        {"hw:numa_nodes": "1", "pci_passthrough:alias": "a:1"},
        {"hw:mem_page_size": "large"},
        {"resources:PCPU": "4"},
        {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"},
    ]
)
KEYS = st.sampled_from([f"hw:{key}" for key in HARDWARE] + list(OTHERS)) | st.text(max_size=9)
PROPERTIES = st.sampled_from([f"hw_{key}" for key in HARDWARE]) | st.text(max_size=9)


@settings(max_examples=400, deadline=None)
@given(
    FLAVORS,
    BEGINNINGS,
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.dictionaries(PROPERTIES, VALUES, max_size=2),
)
def test_result_is_a_valid_spec_or_a_typed_error(flavor, beginning, garbage, properties):
    flavor = Flavor(flavor.name, flavor.vcpus, flavor.memory_mb, flavor.disk_gb, {**beginning, **garbage})
    try:
        spec = build_spec(flavor, Image("i", properties=properties), CATALOG)
    except errors.InvalidRequest as error:
        assert error.sentence
        return
    check_spec(spec)
    cells = spec.numa.get("cells", [])
    if cells:
        assert sorted(cpu for cell in cells for cpu in cell["cpus"]) == list(range(flavor.vcpus))
        assert sum(cell["memory_mb"] for cell in cells) == flavor.memory_mb
        assert not {"VCPU", "PCPU", "MEMORY_MB"} & spec.resources.keys()
