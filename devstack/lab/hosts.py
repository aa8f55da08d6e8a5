# SPDX-License-Identifier: Apache-2.0
"""Generated hosts and requests, the same for the same seed."""

import random
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab import default_driver
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.names import host_of
from scheduler_svc.core.records import Amounts, ClaimBatch, Intent, Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import HostReport

# (VCPUs, memory in MB per VCPU, disk in GB, weight out of 10)
SIZES = ((1, 2048, 20, 3), (2, 2048, 40, 3), (4, 4096, 80, 2), (8, 4096, 160, 1), (8, 8192, 320, 1))

NODES_PER_HOST = 50
ZONES = ("az1", "az2", "az3")
CPU_RATIO = 2.0
Shape = tuple[int, int, int, int]  # VCPUs, memory in MB, disk in GB, weight out of 10
SHAPES = ((32, 131_072, 2_000, 3), (48, 196_608, 4_000, 3), (64, 262_144, 4_000, 3), (128, 1_048_576, 8_000, 1))
EQUAL = ((64, 262_144, 4_000, 10),)
UNLIKE = ((96, 196_608, 4_000, 5), (32, 262_144, 4_000, 5))  # hosts rich in processors, hosts rich in memory
SHAPE_SETS: Mapping[str, Sequence[Shape]] = {"mixed": SHAPES, "equal": EQUAL, "unlike": UNLIKE}
TRAITS = ("HW_CPU_X86_AVX2", "HW_CPU_X86_AVX512F", "STORAGE_DISK_SSD")
EPOCH = 1
POSITION = 1
TTL_MS = 86_400_000
Nodes = Mapping[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ServerRequest:
    consumer: str
    request: SchedulingRequest


def stream(seed: int) -> Iterator[ServerRequest]:
    chance = random.Random(seed)
    weights = [share for *_, share in SIZES]
    while True:
        vcpus, memory, disk, _ = chance.choices(SIZES, weights)[0]
        amounts: Amounts = {"VCPU": vcpus, "MEMORY_MB": vcpus * memory, "DISK_GB": disk}
        consumer = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        yield ServerRequest(consumer, SchedulingRequest(f"req-{consumer}", amounts))


def make_nodes(count: int, seed: int = 1, shapes: Sequence[Shape] = SHAPES) -> Nodes:
    chance = random.Random(seed)
    weights = [share for *_, share in shapes]
    return {
        f"compute{number // NODES_PER_HOST}/node{number % NODES_PER_HOST}": _node(
            chance.choices(shapes, weights)[0], chance
        )
        for number in range(count)
    }


def stable_uuid(name: str) -> str:
    """Return the uuid that a name has in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"gantt-lab {name}"))


def make_usage(nodes: Nodes, max_load: float, seed: int = 2) -> dict[str, dict[str, int]]:
    """Return used amounts: of each node a random share up to ``max_load``, the same for all classes."""
    chance = random.Random(seed)
    used = {}
    for name, node in nodes.items():
        share = max_load * chance.random()
        used[name] = {
            resource_class: int(share * unit["capacity"]) for resource_class, unit in node["inventories"].items()
        }
    return used


def snapshot(nodes: Nodes, used: Mapping[str, Mapping[str, int]]) -> Snapshot:
    """Return the snapshot of a store whose hosts are all alive, enabled and open."""
    service_hosts = {host_of(name) for name in nodes}
    return Snapshot(
        epoch=EPOCH,
        position=POSITION,
        providers={
            name: {"schema": 1, "id": name, "root": name, "parent": None, "host": host_of(name), **node}
            for name, node in nodes.items()
        },
        used=used,
        services={host: {"enabled": True} for host in service_hosts},
        alive=dict.fromkeys(service_hosts, True),
        opened=dict.fromkeys(service_hosts, EPOCH),
    )


def table(count: int, max_load: float = 0.9) -> HostTable:
    nodes = make_nodes(count)
    return HostTable.from_snapshot(snapshot(nodes, make_usage(nodes, max_load)), reads=default_driver.default().reads)


def claim_batch(
    snapshot: Snapshot, intents: Sequence[Intent], resources: Amounts, record: Mapping[str, Any]
) -> ClaimBatch:
    """Return a batch whose claims expire only after the measurement."""
    return ClaimBatch(
        request_id=f"req-{uuid.uuid4()}",
        project="lab",
        user="lab",
        resources=resources,
        intents=intents,
        epoch=snapshot.epoch,
        position=snapshot.position,
        ttl_ms=TTL_MS,
        record=record,
    )


def by_service_host(nodes: Nodes) -> dict[str, dict[str, dict[str, Any]]]:
    hosts: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for name, node in nodes.items():
        hosts[host_of(name)][name] = node
    return hosts


def join(store: Store, nodes: Nodes) -> None:
    """Send each host's full report and an audit, like a starting agent."""
    for host, host_nodes in by_service_host(nodes).items():
        outcome = store.update_stats(
            host, HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes=host_nodes)
        )
        store.audit(host, outcome.epoch, [], 0)


def _node(shape: Shape, chance: random.Random) -> dict[str, Any]:
    vcpus, memory, disk, _ = shape
    inventories = {
        "VCPU": Inventory(vcpus, allocation_ratio=CPU_RATIO),
        "MEMORY_MB": Inventory(memory, reserved=4096),
        "DISK_GB": Inventory(disk),
    }
    return {
        "inventories": {name: unit.as_dict() for name, unit in inventories.items()},
        "traits": [trait for trait in TRAITS if chance.random() < 0.5],
        "availability_zone": chance.choice(ZONES),
        "metrics": {},
    }
