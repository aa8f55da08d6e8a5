# SPDX-License-Identifier: Apache-2.0
"""Random clouds of Nova as plain dictionaries, as Nova's databases and Placement get them.

A cloud is {"cells", "services", "computes", "aggregates", "instances", "consumers"}. ``services`` and ``computes`` are
Nova's records; ``instances`` has those on each service host; ``consumers`` the node and the amounts of each consumer.
What computes report is what the consumers hold, so that Nova's counts and Placement's say the same.
"""

import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Cloud = Mapping[str, Any]
Call = tuple[str, str, Any]

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")
METRICS = ("cpu.percent", "cpu.idle.percent", "cpu.frequency")
CUSTOM_TRAITS = ("CUSTOM_A", "CUSTOM_B")
METADATA = {
    "ssd": ("1", "2", "a", "a,b", "x"),
    "instance_type": ("m1", "m1,m2", "m2,a"),
    "os_type": ("linux", "linux,windows", "windows"),
    "hw_disk_bus": ("virtio", "scsi,virtio"),
    "filter_tenant_id": ("p1", "p2,p1", "p2"),
    "max_io_ops_per_host": ("1", "5", "9"),
    "max_instances_per_host": ("3", "20", "55"),
    "cpu_weight_multiplier": ("2", "-1.5", "0"),
    "trait:CUSTOM_A": ("required",),
}
# Those that Nova's prefilters require.
DEVICE_TRAITS = (
    *("COMPUTE_NET_VIRTIO_PACKED", "COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"),
    *("COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_CRB", "COMPUTE_SECURITY_TPM_TIS"),
    *(f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{level}" for level in ("USER", "HOST", "DEPLOYMENT")),
    *("COMPUTE_ACCELERATORS", "COMPUTE_REMOTE_MANAGED_PORTS", "COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_STORAGE_BUS_SCSI"),
    *("HW_ARCH_X86_64", "HW_ARCH_AARCH64", "HW_ARCH_I686"),
)
SUPPORTED = (["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"], ["aarch64", "kvm", "hvm"], ["x86_64", "xen", "xen"])


def draw_cloud(rng: random.Random) -> Cloud:
    """Return a random cloud of two cells."""
    cells = [
        {"uuid": new_uuid(rng), "name": f"cell{number}", "disabled": rng.random() < 0.08} for number in range(1, 3)
    ]
    has_dedicated = rng.random() < 0.5  # none or all of the computes report processors for dedicated guests
    services = [_service(rng, f"h{number}") for number in range(rng.randint(2, 8))]
    computes = [_compute(rng, service["host"], node) for service in services for node in _nodes(rng, service["host"])]
    consumers = {new_uuid(rng): _holding(rng, rng.choice(computes)) for _ in range(rng.randint(0, 8))}
    instances: dict[str, list[str]] = {service["host"]: [] for service in services}
    for name, holding in consumers.items():
        instances[holding["host"]].append(name)
    for compute in computes:
        if has_dedicated:
            compute["dedicated"] = rng.choice((1, 4, 16))
        _report(rng, compute, [holding for holding in consumers.values() if holding["node"] == compute["node"]])
    aggregates = [_aggregate(rng, number, list(instances)) for number in range(rng.randint(0, 4))]
    zones = [rng.choice((None, "z1", "z2", "nova2")) for _ in services]
    for zone in ("z1", "z2"):
        hosts = [service["host"] for service, own in zip(services, zones, strict=True) if own == zone]
        fields = {"name": zone, "uuid": new_uuid(rng), "hosts": hosts, "metadata": {"availability_zone": zone}}
        aggregates.append(fields)
    return {
        "cells": cells,
        "services": services,
        "computes": computes,
        "aggregates": aggregates,
        "instances": instances,
        "consumers": consumers,
    }


def new_uuid(rng: random.Random) -> str:
    """Return a random uuid."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _service(rng: random.Random, host: str) -> dict[str, Any]:
    return {
        "host": host,
        "cell": int(rng.random() < 0.3),
        "disabled": rng.random() < 0.1,
        "forced_down": rng.random() < 0.04,
        "up": rng.random() < 0.92,
        "mapped": True,
    }


def _nodes(rng: random.Random, host: str) -> Sequence[str]:
    return rng.choice(([host], [host], [f"{host}.example"], [f"{host}.example"]))


def _compute(rng: random.Random, host: str, node: str) -> dict[str, Any]:
    return {
        "uuid": new_uuid(rng),
        "host": host,
        "node": node,
        "total": {
            "VCPU": rng.choice((2, 4, 8, 16)),
            "MEMORY_MB": rng.randrange(2048, 40000, 8),
            "DISK_GB": rng.randrange(5, 900),
        },
        "cpu_ratio": rng.choice((1.0, 4.0)),
        "traits": [
            *(name for name in CUSTOM_TRAITS if rng.random() < 0.6),
            *(name for name in DEVICE_TRAITS if rng.random() < 0.75),
            *(["OWNER_NOVA"] if rng.random() < 0.96 else []),
        ],
        "host_ip": rng.choice(("10.0.0.", "10.0.1.", "10.9.0.")) + str(rng.randint(2, 200)),
        "facts": {
            "hypervisor_type": rng.choice(("QEMU", "QEMU", "Xen")),
            "hypervisor_version": rng.choice((6_000_000, 8_002_000, 10_000_001)),
            "cpu_info": {"model": rng.choice(("a", "Nehalem")), "topology": {"cores": rng.choice((2, 4))}},
            "supported_instances": rng.sample(SUPPORTED, rng.randint(1, 4)),
        },
        "metrics": [_metric(rng, name) for name in METRICS if rng.random() < 0.85],
        "pci_pools": [_pool(rng, device) for device in rng.sample(("154d", "10ed", "1572"), rng.choice((0, 0, 1, 2)))],
    }


def _metric(rng: random.Random, name: str) -> dict[str, Any]:
    value = rng.choice((0.0, 0.29, 0.5, 1.0)) if name.endswith("percent") else rng.choice((800, 2400, 2401))
    return {"name": name, "value": value, "timestamp": "2026-01-01T00:00:00", "source": "lab"}


def _pool(rng: random.Random, device: str) -> dict[str, Any]:
    pool = {"vendor_id": "8086", "product_id": device, "numa_node": rng.choice((None, 0, 1))}
    return pool | {"count": rng.choice((0, 1, 8, 60)), "tags": {"physical_network": "net1"}}


def _holding(rng: random.Random, compute: Mapping[str, Any]) -> dict[str, Any]:
    amounts = {"VCPU": 1, "MEMORY_MB": 256 * rng.randint(1, 3), "DISK_GB": 1}
    return {"host": compute["host"], "node": compute["node"], "provider": compute["uuid"], "amounts": amounts}


def _report(rng: random.Random, compute: dict[str, Any], holdings: Sequence[Mapping[str, Any]]) -> None:
    """Add what a compute reports about what runs there."""
    compute["total"]["VCPU"] = max(compute["total"]["VCPU"], len(holdings))
    compute["used"] = {name: sum(holding["amounts"][name] for holding in holdings) for name in CLASSES}
    for name in CLASSES:
        compute["total"][name] = max(compute["total"][name], compute["used"][name])
    compute["stats"] = {
        "num_instances": str(len(holdings)),
        "io_workload": str(rng.choice((0, 0, 1, 4, 8, 9))),
        "failed_builds": str(rng.choice((0, 0, 0, 1, 3))),
        "rack": rng.choice("ab"),
    }


def _aggregate(rng: random.Random, number: int, hosts: Sequence[str]) -> dict[str, Any]:
    keys = rng.sample(sorted(METADATA), rng.randint(0, 3))
    return {
        "name": f"a{number}",
        "uuid": new_uuid(rng),
        "hosts": sorted(rng.sample(hosts, rng.randint(0, len(hosts)))),
        "metadata": {key: rng.choice(METADATA[key]) for key in keys},
    }


def placement_calls(cloud: Cloud) -> Iterator[Call]:
    """Yield the requests to Placement that Nova's services would make of a cloud."""
    for name in CUSTOM_TRAITS:
        yield "PUT", f"/traits/{name}", None
    disabled = {service["host"] for service in cloud["services"] if service["disabled"]}
    for compute in cloud["computes"]:
        provider = f"/resource_providers/{compute['uuid']}"
        yield "POST", "/resource_providers", {"name": compute["node"], "uuid": compute["uuid"]}
        inventories = {name: {"total": compute["total"][name]} for name in CLASSES}
        inventories["VCPU"]["allocation_ratio"] = compute["cpu_ratio"]
        if "dedicated" in compute:
            inventories["PCPU"] = {"total": compute["dedicated"]}
        yield "PUT", f"{provider}/inventories", {"resource_provider_generation": 0, "inventories": inventories}
        traits = [
            "COMPUTE_NODE",
            *compute["traits"],
            *(["COMPUTE_STATUS_DISABLED"] if compute["host"] in disabled else []),
        ]
        yield "PUT", f"{provider}/traits", {"resource_provider_generation": 1, "traits": traits}
        members = [group["uuid"] for group in cloud["aggregates"] if compute["host"] in group["hosts"]]
        yield "PUT", f"{provider}/aggregates", {"resource_provider_generation": 2, "aggregates": members}
    for name, holding in cloud["consumers"].items():
        yield put_allocation(name, holding, None)


def put_allocation(consumer: str, holding: Mapping[str, Any], generation: int | None) -> Call:
    """Return the request that makes a holding all that a consumer has."""
    body = {
        "allocations": {holding["provider"]: {"resources": holding["amounts"]}},
        "project_id": "p1",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    return "PUT", f"/allocations/{consumer}", body


def removal_calls(cloud: Cloud) -> Iterator[Call]:
    """Yield the requests to Placement that remove a cloud."""
    for name in cloud["consumers"]:
        yield "DELETE", f"/allocations/{name}", None
    for compute in cloud["computes"]:
        yield "DELETE", f"/resource_providers/{compute['uuid']}", None
