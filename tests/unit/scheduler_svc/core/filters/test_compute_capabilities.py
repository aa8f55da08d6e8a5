# SPDX-License-Identifier: Apache-2.0
"""ComputeCapabilitiesFilter: extra specs that match host attributes."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NEW = {"hypervisor_type": "QEMU", "cpu_info": {"features": ["aes", "avx2"], "maxphysaddr": {"bits": 46}}, "rack": "r1"}
OLD = {"hypervisor_type": "Xen", "cpu_info": {"features": ["aes"]}}
NODES = {
    **make_nodes("new", facts=NEW, host_ip="10.0.0.1"),
    **make_nodes("old", facts=OLD, host_ip="10.0.0.2"),
    **make_nodes("bare/0"),
}
ALL = ["new", "old", "bare/0"]


@pytest.mark.parametrize(
    ("spec", "requirement", "expected"),
    [
        ("capabilities:hypervisor_type", "QEMU", ["new"]),
        ("capabilities:hypervisor_type", "<or> QEMU <or> Xen", ["new", "old"]),
        ("hypervisor_type", "s!= QEMU", ["old"]),
        ("capabilities:cpu_info:features", "<in> avx2", ["new"]),
        ("capabilities:cpu_info:features", "<all-in> aes avx2", ["new"]),
        ("hw:maxphysaddr_bits", "42", ["new"]),
        ("hw:maxphysaddr_bits", "47", []),
        ("capabilities:free_ram_mb", ">= 16384", ALL),
        ("capabilities:free_ram_mb", "16383", []),
        ("free_ram_mb", "<= 10", []),
        ("capabilities:free_ram_mb:below", "1", []),
        ("capabilities:rack", "r1", ["new"]),
        ("capabilities:stats:rack", "r1", ["new"]),
        ("rack", "r2", ["old", "bare/0"]),
        ("floor", "2", ALL),
        ("capabilities:floor", "2", []),
        ("capabilities", "2", ALL),
        ("hw:cpu_policy", "dedicated", ALL),
        ("capabilities:host", "<or> bare <or> old", ["old", "bare/0"]),
        ("capabilities:hypervisor_hostname", "<in> e", ["new", "bare/0"]),
        ("capabilities:hypervisor_hostname", "s== bare/0", ["bare/0"]),
        ("capabilities:host_ip", "10.0.0.2", ["old"]),
        ("capabilities:host_ip", "not an address", []),
        ("capabilities:num_instances", "0", []),
        ("capabilities:metrics:heat", ">= 0", []),
    ],
)
def test_hosts_that_match_the_extra_spec_pass(spec, requirement, expected):
    assert passing_hosts("ComputeCapabilitiesFilter", NODES, extra_specs={spec: requirement}) == expected
