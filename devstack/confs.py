# SPDX-License-Identifier: Apache-2.0
"""The configuration files of a cluster's services, from its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devstack.cluster import Shape
    from devstack.layout import Layout

Groups = Mapping[str, Mapping[str, object]]

PARTITION = "default"

# A host counts as down when it missed so many reports, and not before so many seconds.
MISSED_REPORTS = 3
DOWN_SECONDS = 60.0

# Three shapes of node, as in a cloud that grew: most are small, some have much memory, a few are fast.
NODE_SHAPES: Groups = {
    "shape:small": {"share": 6, "vcpus": 16, "memory_mb": 65536, "disk_gb": 800, "cpu_allocation_ratio": 4.0},
    "shape:memory": {
        "share": 3,
        "vcpus": 32,
        "memory_mb": 262144,
        "disk_gb": 1600,
        "cpu_allocation_ratio": 2.0,
        "traits": "HW_CPU_X86_AVX2",
    },
    "shape:fast": {
        "share": 1,
        "vcpus": 48,
        "memory_mb": 196608,
        "disk_gb": 3200,
        "traits": "HW_CPU_X86_AVX2,HW_CPU_X86_AVX512F,CUSTOM_FAST_DISK",
    },
}

RACKS = 2

# Whoever is on a network takes of its bandwidth, for an ordinary interface.
BANDWIDTH = ("MISC_SHARES_VIA_AGGREGATE", "CUSTOM_VNIC_TYPE_NORMAL")
PHYSNET = "CUSTOM_PHYSNET_PHYSNET"

# A node of each other service that is simulated: a storage pool that hosts take space of, a network with its bandwidth.
OTHERS: Groups = {
    "volume": {
        "kind": "volume",
        "vcpus": 0,
        "memory_mb": 0,
        "disk_gb": 4000,
        "traits": "MISC_SHARES_VIA_AGGREGATE",
    },
    "network": {
        "kind": "network",
        "vcpus": 0,
        "memory_mb": 0,
        "disk_gb": 0,
        "resources": "NET_BW_EGR_KILOBIT_PER_SEC:10000000,NET_BW_IGR_KILOBIT_PER_SEC:10000000",
    },
}


@dataclass(frozen=True, slots=True)
class Urls:
    """Where a service finds the bus, and the store if it has one; passwords are in them."""

    bus: str
    store: str | None = None


def _shapes(name: str, count: int) -> Groups:
    """Return the shapes of the nodes of another service: each network is the physical network of its own number."""
    if name == "volume":
        return {"shape:volume": OTHERS[name]}
    # Equal shares are dealt in the order of the names, host by host.
    return {
        f"shape:network{number:03d}": {**OTHERS[name], "traits": ",".join([*BANDWIDTH, f"{PHYSNET}{number}"])}
        for number in range(count)
    }


def render(name: str, shape: Shape, layout: Layout, urls: Urls) -> Groups:
    """Return the groups of one service's file."""
    base: dict[str, Mapping[str, object]] = {
        "DEFAULT": {"transport_url": urls.bus, "executor": shape.executor},
        "rpc": {"partition": PARTITION},
    }
    if name == "client":
        base["DEFAULT"] = {"transport_url": urls.bus}
    elif name == "scheduler":
        base |= {
            "scheduler": {"workers": shape.schedulers},
            "store": {
                "url": urls.store,
                "durability": _durability(shape),
                "service_down_time": max(DOWN_SECONDS, MISSED_REPORTS * shape.report_interval),
            },
        }
    elif name == "conductor":
        base |= {"conductor_store": {"url": urls.store}}
    elif name == "publisher":
        base["DEFAULT"] = {"transport_url": urls.bus}
        base |= {"publisher": {"interval": shape.report_interval, "racks": RACKS, "physnets": max(1, shape.networks)}}
    elif name in OTHERS:
        count = shape.pools if name == "volume" else shape.networks
        base |= {
            "compute": {
                "hosts": f"{name}[0-{count - 1}]",
                "nodes_per_host": 1,
                "report_interval": shape.report_interval,
                "state_path": layout.state / name,
            },
            **_shapes(name, count),
        }
    elif name == "compute":
        base |= {
            "compute": {
                "hosts": _hosts(shape.computes),
                "nodes_per_host": shape.nodes_per_host,
                "report_interval": shape.report_interval,
                "state_path": layout.state / "compute",
                "locations": ",".join(f"rack{number}" for number in range(RACKS)),
            },
            # Each change one of memory too: default filters read no metric, and what nobody reads does not travel.
            "simulator": {"seed": shape.seed, "churn": shape.churn, "external_use_rate": 1.0},
            **NODE_SHAPES,
        }
    return base


def _hosts(count: int) -> str:
    last = str(count - 1)
    return f"compute[{'0' * len(last)}-{last}]"


def _durability(shape: Shape) -> str:
    return "always" if shape.mode == "standard" else "everysec"


def merge(groups: Groups, more: Groups) -> Groups:
    """Return ``groups`` with the options of ``more`` laid over them."""
    return {group: {**groups.get(group, {}), **more.get(group, {})} for group in {**groups, **more}}


def text(groups: Groups) -> str:
    """Return the groups in the form of an oslo.config file."""
    lines: list[str] = []
    for group, options in groups.items():
        lines.append(f"[{group}]")
        # oslo.config expands $names: a generated password that holds one must stay what it is.
        lines += [f"{key} = {str(value).replace('$', '$$')}" for key, value in options.items()]
        lines.append("")
    return "\n".join(lines)
