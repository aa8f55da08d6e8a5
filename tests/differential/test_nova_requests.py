# SPDX-License-Identifier: Apache-2.0
"""Nova and gantt translate flavors and images to the same cells, amounts, traits and errors.

Intended differences are in docs/requests.md; they are counts by reason.
"""

import collections

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.spec_builder import pci
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.catalog import Catalog
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image
from tests.differential import asking

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

EXAMPLES = 3000
LARGE_KB = 2048
ALIASES = [
    '{"name": "a", "vendor_id": "8086", "product_id": "0443", "numa_policy": "required"}',
    '{"name": "b", "resource_class": "fast_nic", "traits": "physnet_a,HW_NIC_SRIOV"}',
]
CATALOG = Catalog(pci.parse(ALIASES), large_page_kb=LARGE_KB)

# Refused by gantt only: part of the error text -> reason.
OURS = {
    "the cells of the NUMA topology request it": "a class of the cells in a group of the flavor",
    "but the cells of the NUMA topology request": "amounts beside those of the cells",
    "requires and forbids": "a trait that is required and forbidden, which Placement refuses for Nova",
    "requests no resources": "a group of traits alone, which Placement refuses for Nova",
}
# Refused by Nova only: part of the error -> reason.
NOVAS = {
    "CPUThreadPolicyConfigurationInvalid": "hyperthreading required of a guest that pins nothing",
    "use one or the other": "processors of a group of the flavor beside a policy that shares them",
}

VALUES = {
    "hw:numa_nodes": ["1", "2", "3"],
    "hw:numa_cpus.0": ["0-1", "0,2", "0-3"],
    "hw:numa_cpus.1": ["2-3", "1,3", "3"],
    "hw:numa_mem.0": ["2048", "1024", "4096"],
    "hw:numa_mem.1": ["2048", "3072"],
    "hw:cpu_policy": ["shared", "dedicated", "mixed"],
    "hw:cpu_thread_policy": ["prefer", "require", "isolate"],
    "hw:cpu_dedicated_mask": ["^0", "2-3", "^0-1"],
    "hw:cpu_realtime": ["yes", "no"],
    "hw:cpu_realtime_mask": ["^0", "1-3"],
    "hw:emulator_threads_policy": ["isolate", "share"],
    "hw:mem_page_size": ["small", "large", "any", "2048", "2MB", "1GB", "4"],
    "hw:pci_numa_affinity_policy": ["required", "legacy", "preferred", "socket"],
    "hw:tpm_version": ["1.2", "2.0"],
    "hw:tpm_model": ["tpm-tis", "tpm-crb"],
    "hw:maxphysaddr_mode": ["passthrough", "emulate"],
    "hw:mem_encryption": ["true", "false"],
    "hw:mem_encryption_model": ["amd-sev", "amd-sev-es"],
    "hw:pmem": ["6GB", "6GB,16GB,6GB"],
    "os:secure_boot": ["required", "optional", "disabled"],
}
OTHERS = {
    "resources:VCPU": ["0", "2", "4"],
    "resources:PCPU": ["4", "5", "2"],
    "resources:MEMORY_MB": ["0", "512", "4096"],
    "resources:CUSTOM_GOLD": ["1"],
    "resources1:VGPU": ["1"],
    "resources_b:DISK_GB": ["7"],
    "resources1:VCPU": ["2"],
    "trait:CUSTOM_A": ["required", "forbidden"],
    "trait1:CUSTOM_B": ["required"],
    "trait:HW_CPU_HYPERTHREADING": ["required", "forbidden"],
    "group_policy": ["none", "isolate"],
    "pci_passthrough:alias": ["a:1", "a:2,b:1", "b:2"],
}
FLAVORS_OWN = ("hw:cpu_dedicated_mask", "hw:cpu_realtime", "hw:emulator_threads_policy", "hw:pmem")
PROPERTIES = {
    **{key.replace(":", "_"): values for key, values in VALUES.items() if key not in FLAVORS_OWN},
    "trait:CUSTOM_A": ["required"],
    "trait:HW_CPU_HYPERTHREADING": ["required"],
    "hw_firmware_type": ["uefi", "bios"],
    "hw_firmware_stateless": ["true"],
    "hw_machine_type": ["q35"],
}


def choose(values, most):
    selected_keys = st.lists(st.sampled_from(sorted(values)), max_size=most, unique=True)
    return selected_keys.flatmap(
        lambda keys: st.fixed_dictionaries({key: st.sampled_from(values[key]) for key in keys})
    )


@pytest.fixture(scope="module")
def nova():
    with asking.running("nova_requests_side.py") as peer:
        peer.ask("prepare", aliases=ALIASES)
        yield peer


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(extra_specs=choose(VALUES | OTHERS, 5), properties=choose(PROPERTIES, 2))
def test_translation_equals_nova(nova, tally, extra_specs, properties):
    flavor_fields = {"vcpus": 4, "memory_mb": 4096, "root_gb": 10, "extra_specs": extra_specs}
    nova_result = nova.ask("ask", flavor=flavor_fields, properties=properties)
    flavor = Flavor("f", vcpus=4, memory_mb=4096, disk_gb=10, extra_specs=extra_specs)
    try:
        spec = build_spec(flavor, Image("i", properties=properties), CATALOG)
    except errors.InvalidRequest as error:
        if "refused" not in nova_result:
            reasons = [reason for part, reason in OURS.items() if part in error.sentence]
            assert reasons, error.sentence
            tally[f"refused by gantt: {reasons[0]}"] += 1
        else:
            tally["refused by both"] += 1
        return
    if "refused" in nova_result:
        reasons = [reason for part, reason in NOVAS.items() if part in nova_result["refused"]]
        assert reasons, nova_result["refused"]
        tally[f"refused by nova: {reasons[0]}"] += 1
        return
    tally["with cells" if nova_result["cells"] else "without cells"] += 1
    assert cells(spec) == (nova_result["cells"] and [plain(cell) for cell in nova_result["cells"]])
    assert summarize(spec) == summarize_nova(nova_result["groups"], nova_result["devices"])
    if spec.numa:
        policies = [spec.numa.get("devices", {}).get(suffix, "preferred") for suffix in spec.groups if "_pci" in suffix]
        assert sorted(policies) == nova_result["devices"]


def plain(cell):
    """Return Nova's cell with gantt's page size; small pages are plain memory."""
    sizes = {None: None, "small": None, "any": None, "large": LARGE_KB, 4: None}
    return cell | {"page": sizes.get(cell["page"], cell["page"])}


def cells(spec):
    if not spec.numa:
        return None
    return [
        {
            "cpus": cell["cpus"],
            "pinned": cell["pcpus"],
            "memory_mb": cell["memory_mb"],
            "page": spec.numa["page_size_kb"],
            "cpu_policy": spec.numa["cpu_policy"],
            "thread_policy": spec.numa["thread_policy"],
        }
        for cell in spec.numa["cells"]
    ]


def summarize(spec):
    """Return the summed amounts of host and cells, their traits, and the other groups without their names."""
    amounts = collections.Counter(spec.resources)
    required = {*spec.required_traits, *spec.root_required}
    forbidden = {*spec.forbidden_traits, *spec.root_forbidden}
    own = {cell["group"] for cell in spec.numa.get("cells", ())}
    for suffix in own:
        group = spec.groups[suffix]
        for name, amount in group["resources"].items():
            amounts["MEMORY_MB" if name.startswith("CUSTOM_MEMORY_PAGES_") else name] += amount
        required |= {*group["required"]} - {"HW_NUMA_ROOT"}
        forbidden |= {*group.get("forbidden", ())}
    others = [group for suffix, group in spec.groups.items() if suffix not in own]
    return dict(amounts), sorted(required), sorted(forbidden), multiset(others)


def summarize_nova(groups, devices):
    own = groups.get("", {"resources": {}, "required": [], "forbidden": []})
    if not devices:  # Nova requires the trait even if no device is requested
        own["required"] = [name for name in own["required"] if name != "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]
    others = [group for suffix, group in groups.items() if suffix]
    return own["resources"], own["required"], own["forbidden"], multiset(others)


def multiset(groups):
    return sorted(
        (sorted(group["resources"].items()), sorted(group.get("required", ())), sorted(group.get("forbidden", ())))
        for group in groups
    )
