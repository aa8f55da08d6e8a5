# SPDX-License-Identifier: Apache-2.0
"""Hosts with local and with shared storage."""

from tests.placement.clouds.cloud import Cloud, Provider, amount

SHARES = "MISC_SHARES_VIA_AGGREGATE"
COMPUTE = {
    "VCPU": amount(24, allocation_ratio=16.0),
    "MEMORY_MB": amount(128 * 1024, allocation_ratio=1.5),
}
DISK = {"DISK_GB": amount(2000, reserved=100, allocation_ratio=1.0)}


def _numa_node(host: int, number: int) -> Provider:
    """Return a NUMA node without resources, above a physical function."""
    name = f"{host}_{number}"
    functions = Provider(f"pf{name}", f"PF{name}_UUID", {"SRIOV_NET_VF": amount(8, allocation_ratio=1.0)})
    return Provider(f"numa{name}", f"NUMA{name}_UUID", children=(functions,))


def _processors(host: int, number: int, *aggregates: str) -> Provider:
    """Return a NUMA node with processors."""
    name = f"{host}_{number}"
    inventories = {"VCPU": amount(24, allocation_ratio=16.0)}
    return Provider(f"numa{name}", f"NUMA{name}_UUID", inventories, aggregates=aggregates)


# Two hosts, one of them with a disk of its own, and two pools of storage for both.
SHARED_STORAGE = Cloud(
    (
        Provider(
            "cn1",
            "CN1_UUID",
            COMPUTE,
            ("HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"),
            ("AGG_UUID",),
            (_numa_node(1, 1), _numa_node(1, 2)),
        ),
        Provider(
            "cn2",
            "CN2_UUID",
            {**COMPUTE, **DISK},
            aggregates=("AGG_UUID",),
            children=(_numa_node(2, 1), _numa_node(2, 2)),
        ),
        Provider("ss", "SS_UUID", DISK, (SHARES,), ("AGG_UUID",)),
        Provider("ss2", "SS2_UUID", DISK, (SHARES,), ("AGG_UUID",)),
    )
)

# Three hosts with disks of their own; aggregates that no provider is in.
LOCAL_STORAGE = Cloud(
    tuple(
        Provider(
            f"cn{number}",
            f"CN{number}_UUID",
            {"VCPU": amount(24), "MEMORY_MB": amount(128 * 1024), "DISK_GB": amount(2000)},
        )
        for number in (1, 2, 3)
    )
)

# Two hosts whose NUMA nodes have the processors; one pool of storage is shared with both hosts, another with one node.
STORAGE_OF_NUMA_NODES = Cloud(
    (
        Provider(
            "cn1",
            "CN1_UUID",
            aggregates=("AGGA_UUID",),
            children=(_processors(1, 1, "AGGC_UUID"), _processors(1, 2)),
        ),
        Provider(
            "cn2",
            "CN2_UUID",
            aggregates=("AGGA_UUID", "AGGB_UUID"),
            children=(_processors(2, 1), _processors(2, 2)),
        ),
        Provider("ss1", "SS1_UUID", DISK, (SHARES,), ("AGGA_UUID",)),
        Provider("ss2", "SS2_UUID", DISK, (SHARES,), ("AGGC_UUID",)),
    )
)
