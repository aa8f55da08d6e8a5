# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a cluster's services, generated from the cluster's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devstack.cluster_size import ClusterSize
from devstack.layout import DASHBOARD, PLACEMENT, PUBLISHER, Layout
from devstack.servers.ports import LOOPBACK

Groups = Mapping[str, Mapping[str, object]]

PARTITION = "default"
WITH_REPLICA = ("scheduler", PLACEMENT)  # daemons whose workers follow the store's log

# A host counts as down after this many missed reports and at least this many seconds.
MISSED_REPORTS = 3
DOWN_SECONDS = 60.0

# Node shapes of a cloud that grew: most nodes are small, some have much memory, a few are fast.
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
PLACEMENT_WORKERS = 2

# Traits of a network provider: it shares bandwidth for normal interfaces with the hosts on the network.
BANDWIDTH = ("MISC_SHARES_VIA_AGGREGATE", "CUSTOM_VNIC_TYPE_NORMAL")
PHYSNET = "CUSTOM_PHYSNET_PHYSNET"

# One node per simulated service: a storage pool that hosts share, a network with bandwidth.
SIMULATED_SERVICES: Groups = {
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
class ServiceUrls:
    """Secrets of one service: URLs with passwords, the schedulers' ``stamp_key``, the dashboard's ``token``."""

    bus: str | None
    store: str | None = None
    stamp_key: str | None = None
    token: str | None = None


def _shapes(name: str, count: int) -> Groups:
    if name == "volume":
        return {"shape:volume": SIMULATED_SERVICES[name]}
    # Shapes with equal shares are assigned to hosts in the order of the shapes' names.
    return {
        f"shape:network{number:03d}": {
            **SIMULATED_SERVICES[name],
            "traits": ",".join([*BANDWIDTH, f"{PHYSNET}{number}"]),
        }
        for number in range(count)
    }


def render(name: str, size: ClusterSize, layout: Layout, urls: ServiceUrls) -> Groups:
    groups = _service(name, size, layout, urls)
    port = size.metrics_ports.get(name)
    return groups if port is None else {**groups, "metrics": {"listen": f"{LOOPBACK}:{port}"}}


def _service(name: str, size: ClusterSize, layout: Layout, urls: ServiceUrls) -> Groups:
    if name == PLACEMENT:
        return _placement(size, urls)
    base: dict[str, Mapping[str, object]] = {
        "DEFAULT": {"transport_url": urls.bus, "executor": size.executor},
        "rpc": {"partition": PARTITION},
    }
    if name in ("scheduler", "conductor"):
        # All simulated hosts share one broker user.
        base["rpc"] = {"partition": PARTITION, "shared_agent_hosts": ",".join(_agent_hosts(size))}
    if name == "client":
        base["DEFAULT"] = {"transport_url": urls.bus}
    elif name == DASHBOARD:
        base["DEFAULT"] = {"transport_url": urls.bus}
        ports = [port for daemon, port in size.metrics_ports.items() if daemon in WITH_REPLICA]
        exporters = ",".join(f"http://{LOOPBACK}:{port}/metrics" for port in ports)
        base |= {"dashboard": {"port": size.dashboard_port, "token": urls.token, "exporters": exporters}}
    elif name == "scheduler":
        base |= {
            "scheduler": {"workers": size.schedulers, **({"stamp_key": urls.stamp_key} if urls.stamp_key else {})},
            "store": {
                "url": urls.store,
                "durability": _durability(size),
                "service_down_time": max(DOWN_SECONDS, MISSED_REPORTS * size.report_interval),
            },
        }
    elif name == "conductor":
        base |= {"conductor_store": {"url": urls.store, "durability": _durability(size)}}
    elif name == PUBLISHER:
        base["DEFAULT"] = {"transport_url": urls.bus}
        base |= {"publisher": {"interval": size.report_interval, "racks": RACKS, "physnets": max(1, size.networks)}}
    elif name in SIMULATED_SERVICES:
        count = size.pools if name == "volume" else size.networks
        base |= {
            "compute": {
                "hosts": f"{name}[0-{count - 1}]",
                "nodes_per_host": 1,
                "report_interval": size.report_interval,
                "state_path": layout.state / name,
            },
            **_shapes(name, count),
        }
    elif name == "compute":
        base |= {
            "compute": {
                "hosts": _hosts(size.computes),
                "nodes_per_host": size.nodes_per_host,
                "report_interval": size.report_interval,
                "state_path": layout.state / "compute",
                "locations": ",".join(f"rack{number}" for number in range(RACKS)),
            },
            # Each change also changes memory: default filters read no metric, and agents send only what is read.
            "simulator": {"seed": size.seed, "churn": size.churn, "external_use_rate": 1.0},
            **NODE_SHAPES,
        }
    return base


def _placement(size: ClusterSize, urls: ServiceUrls) -> Groups:
    """Return the options of gantt-placement. It accepts any token, because only this machine's users reach it."""
    return {
        "rpc": {"partition": PARTITION},
        "store": {"url": urls.store, "durability": _durability(size)},
        "api": {"auth_strategy": "noauth2"},
        "placement": {"port": size.placement_port, "workers": PLACEMENT_WORKERS},
    }


def _agent_hosts(size: ClusterSize) -> list[str]:
    services = {"volume": size.pools, "network": size.networks}
    return [_hosts(size.computes), *(f"{name}[0-{count - 1}]" for name, count in services.items() if count)]


def _hosts(count: int) -> str:
    last = str(count - 1)
    return f"compute[{'0' * len(last)}-{last}]"


def _durability(size: ClusterSize) -> str:
    return "always" if size.mode == "standard" else "everysec"


def merge(groups: Groups, more: Groups) -> Groups:
    return {group: {**groups.get(group, {}), **more.get(group, {})} for group in {**groups, **more}}


def text(groups: Groups) -> str:
    lines: list[str] = []
    for group, options in groups.items():
        lines.append(f"[{group}]")
        # Escape $, which a generated password may contain: oslo.config expands $names.
        lines += [f"{key} = {str(value).replace('$', '$$')}" for key, value in options.items()]
        lines.append("")
    return "\n".join(lines)
