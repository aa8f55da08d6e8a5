# SPDX-License-Identifier: Apache-2.0
"""What flavors ask of hosts themselves."""

import pytest

from tests.unit.scheduler_svc.filters.cloud import passing, telling

NEW = {"hypervisor_type": "QEMU", "cpu_info": {"features": ["aes", "avx2"], "maxphysaddr": {"bits": 46}}, "rack": "r1"}
OLD = {"hypervisor_type": "Xen", "cpu_info": {"features": ["aes"]}}
NODES = {
    **telling("new", facts=NEW, host_ip="10.0.0.1"),
    **telling("old", facts=OLD, host_ip="10.0.0.2"),
    **telling("bare/0"),
}
EVERY = ["new", "old", "bare/0"]


@pytest.mark.parametrize(
    ("spec", "wanted", "left"),
    [
        ("capabilities:hypervisor_type", "QEMU", ["new"]),
        ("capabilities:hypervisor_type", "<or> QEMU <or> Xen", ["new", "old"]),
        ("hypervisor_type", "s!= QEMU", ["old"]),
        ("capabilities:cpu_info:features", "<in> avx2", ["new"]),
        ("capabilities:cpu_info:features", "<all-in> aes avx2", ["new"]),
        ("hw:maxphysaddr_bits", "42", ["new"]),
        ("hw:maxphysaddr_bits", "47", []),
        ("capabilities:free_ram_mb", ">= 16384", EVERY),
        ("capabilities:free_ram_mb", "16383", []),
        ("free_ram_mb", "<= 10", []),
        ("capabilities:free_ram_mb:below", "1", []),
        ("capabilities:rack", "r1", ["new"]),
        ("capabilities:stats:rack", "r1", ["new"]),
        ("rack", "r2", ["old", "bare/0"]),
        ("floor", "2", EVERY),
        ("capabilities:floor", "2", []),
        ("capabilities", "2", EVERY),
        ("hw:cpu_policy", "dedicated", EVERY),
        ("capabilities:host", "<or> bare <or> old", ["old", "bare/0"]),
        ("capabilities:hypervisor_hostname", "<in> e", ["new", "bare/0"]),
        ("capabilities:hypervisor_hostname", "s== bare/0", ["bare/0"]),
        ("capabilities:host_ip", "10.0.0.2", ["old"]),
        ("capabilities:host_ip", "not an address", []),
        ("capabilities:num_instances", "0", []),
        ("capabilities:metrics:heat", ">= 0", []),
    ],
)
def test_hosts_pass_that_are_what_is_wanted(spec, wanted, left):
    assert passing("ComputeCapabilitiesFilter", NODES, extra_specs={spec: wanted}) == left
