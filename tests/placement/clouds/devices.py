# SPDX-License-Identifier: Apache-2.0
"""Hosts with NUMA nodes, accelerators and network devices in trees of different depths."""

from tests.placement.clouds.cloud import Allocation, Cloud, Provider, amount

BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"


def _fpga(name: str) -> Provider:
    return Provider(f"fpga{name}", f"FPGA{name}_UUID", {"FPGA": amount(1)})


def _bandwidth(name: str, network: int, kilobits: int) -> Provider:
    variable = f"{name.upper()}_UUID"
    return Provider(name, variable, {BANDWIDTH: amount(kilobits)}, (f"CUSTOM_PHYSNET{network}",))


def _nic(number: int, networks: tuple[int, ...], functions: int) -> Provider:
    """Return a network card above its ports, one for each of ``networks``, with virtual functions."""
    ports = tuple(
        Provider(
            f"pf{number}_{port}",
            f"PF{number}_{port}_UUID",
            {"CUSTOM_VF": amount(functions)},
            (f"CUSTOM_PHYSNET{network}",),
        )
        for port, network in enumerate(networks, 1)
    )
    return Provider(f"nic{number}", f"NIC{number}_UUID", traits=("CUSTOM_HW_NIC_ROOT",), children=ports)


STORAGE = Provider("ss1", "SS1_UUID", {"DISK_GB": amount(2000)}, ("MISC_SHARES_VIA_AGGREGATE",), ("AGGA_UUID",))
# A host without resources of its own: NUMA nodes with accelerators, and two network agents.
HOST_OF_NUMA_NODES = Provider(
    "cn1",
    "CN1_UUID",
    traits=("COMPUTE_VOLUME_MULTI_ATTACH",),
    aggregates=("AGGA_UUID",),
    children=(
        Provider(
            "numa0",
            "NUMA0_UUID",
            {"VCPU": amount(4), "MEMORY_MB": amount(2048, min_unit=512, step_size=256)},
            ("HW_NUMA_ROOT",),
            children=(_fpga("0"), Provider("pgpu0", "PGPU0_UUID", {"VGPU": amount(8)})),
        ),
        Provider(
            "numa1",
            "NUMA1_UUID",
            {"VCPU": amount(4), "MEMORY_MB": amount(2048, min_unit=256, max_unit=1024)},
            ("HW_NUMA_ROOT", "CUSTOM_FOO"),
            children=(_fpga("1_0"), _fpga("1_1")),
        ),
        Provider(
            "sriov_agent",
            "SRIOV_AGENT_UUID",
            traits=("CUSTOM_VNIC_TYPE_DIRECT",),
            children=(_bandwidth("esn1", 1, 10000), _bandwidth("esn2", 2, 20000)),
        ),
        Provider(
            "ovs_agent",
            "OVS_AGENT_UUID",
            traits=("CUSTOM_VNIC_TYPE_NORMAL",),
            children=(_bandwidth("br_int", 0, 1000),),
        ),
    ),
)
# A host with processors, memory and a disk, and three network cards.
HOST_OF_CARDS = Provider(
    "cn2",
    "CN2_UUID",
    {"VCPU": amount(8), "MEMORY_MB": amount(2048, min_unit=1024, step_size=128), "DISK_GB": amount(1000)},
    ("CUSTOM_FOO",),
    ("AGGA_UUID",),
    (_nic(1, (1, 2), 4), _nic(2, (1, 2, 1, 2), 2), _nic(3, (1,), 8)),
)
ALLOCATIONS = (
    Allocation("NUMA0_UUID", {"VCPU": 2}, "NUMA0_CONSUMER"),
    Allocation("CN2_UUID", {"VCPU": 3}, "CN2_CONSUMER"),
)

DEVICES = Cloud((STORAGE, HOST_OF_NUMA_NODES, HOST_OF_CARDS), ALLOCATIONS)
# The same hosts two levels below one root.
DEEP_DEVICES = Cloud(
    (
        STORAGE,
        Provider(
            "gp1",
            "GP1_UUID",
            children=(
                Provider("p1", "P1_UUID", children=(HOST_OF_NUMA_NODES,)),
                Provider("p2", "P2_UUID", children=(HOST_OF_CARDS,)),
            ),
        ),
    ),
    ALLOCATIONS,
)
