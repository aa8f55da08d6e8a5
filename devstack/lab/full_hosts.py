# SPDX-License-Identifier: Apache-2.0
"""Generated hosts and requests that exercise every filter and weigher; the same in every run."""

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

from devstack.lab import hosts
from rpcapi.resources.names import host_of
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import DecisionContext, SchedulingRequest
from scheduler_svc.core.table.table import HostTable

RACKS, PROJECTS, FLAVORS, DISKS, LIMITS = 100, 40, 20, 20, 20  # aggregates of each kind, 200 in all
TENANTS = 64
NAMES = tuple(f"m{number}" for number in range(16))  # flavors
FEATURES = ("avx", "avx2", "aes", "vmx")
MOST_IO_OPS, MOST_INSTANCES = 6, 40
HINTED_SHARE = 8  # Requests per request with additional hints.
IMAGE = {"id": "b7e4d1c2-0000-4000-8000-000000000001", "properties": {"hw_architecture": "x86_64", "os_type": "linux"}}
QUERY = ["and", [">=", "$free_ram_mb", 4096], ["<", "$num_io_ops", 7], ["in", "$hypervisor_type", "QEMU", "Xen"]]


def table(count: int, reads: Reads) -> HostTable:
    """Return a table of nodes in 200 aggregates, with all attributes that filters and weighers read."""
    chance = random.Random(11)
    documents = [_facts(index) for index in range(8)]
    nodes = {
        name: {
            **node,
            "facts": chance.choices(documents, range(8, 0, -1))[0],
            "host_ip": f"10.{index // 65_000}.{index // 250 % 250}.{index % 250 + 1}",
            "metrics": {
                "instances": chance.randrange(MOST_INSTANCES),
                "io_ops": chance.randrange(MOST_IO_OPS),
                "failed_builds": chance.choice((0, 0, 0, 1)),
                "heat": chance.randrange(20, 80),
            },
        }
        for index, (name, node) in enumerate(hosts.make_nodes(count).items())
    }
    snapshot = hosts.snapshot(nodes, hosts.make_usage(nodes, 0.9))
    aggregates = {
        aggregate["name"]: aggregate for aggregate in _aggregates(sorted({host_of(name) for name in nodes}), chance)
    }
    return HostTable.from_snapshot(dataclasses.replace(snapshot, states={"aggregate": aggregates}), reads=reads)


def make_requests(count: int) -> list[SchedulingRequest]:
    chance = random.Random(12)
    return [_request(server.request, chance) for server in itertools.islice(hosts.stream(3), count)]


def _request(request: SchedulingRequest, chance: random.Random) -> SchedulingRequest:
    hints: dict[str, Any] = {"different_host": [f"instance{number}" for number in range(3)]}
    if not chance.randrange(HINTED_SHARE):
        hints |= {"query": QUERY, "build_near_host_ip": "10.0.3.7", "cidr": "/8"}
    return dataclasses.replace(
        request,
        project=f"p{chance.randrange(TENANTS)}",
        flavor=chance.choice(NAMES),
        image=IMAGE,
        extra_specs={
            "aggregate_instance_extra_specs:disk": "<or> ssd <or> nvme",
            "capabilities:hypervisor_version": ">= 6000000",
            "capabilities:cpu_info:features": "<in> avx",
        },
        hints=hints,
        decision=DecisionContext(
            instance_hosts={f"instance{number}": f"compute{number}/node1" for number in range(3)},
            excluded_hosts=tuple(f"compute{number}/node2" for number in range(4)),
        ),
    )


def _facts(number: int) -> Mapping[str, Any]:
    return {
        "hypervisor_type": "QEMU" if number % 4 else "Xen",
        "hypervisor_version": 5_000_000 + 1_000_000 * number,
        "supported_instances": [["x86_64", "kvm", "hvm"], ["i686", "qemu", "hvm"]],
        "cpu_info": {"model": f"model{number}", "features": FEATURES[: number % 4 + 1]},
    }


def _aggregates(host_names: Sequence[str], chance: random.Random) -> list[Mapping[str, Any]]:
    members = max(1, len(host_names) // 100)
    sorts: list[tuple[int, int, Any]] = [
        (RACKS, members, lambda number: {"rack": f"r{number}"}),
        (PROJECTS, members, lambda number: {"filter_tenant_id": ",".join(f"p{number + more}" for more in range(8))}),
        (FLAVORS, members, lambda number: {"instance_type": ",".join(chance.sample(NAMES, 8))}),
        (DISKS, max(1, len(host_names) // 20), lambda number: {"disk": "ssd" if number % 3 else "nvme, ssd"}),
        (LIMITS, members, lambda number: {"max_instances_per_host": str(30 + number), "cpu_weight_multiplier": "2.0"}),
    ]
    aggregates: list[Mapping[str, Any]] = []
    for count, size, metadata in sorts:
        for number in range(count):
            start = number * size % len(host_names)
            name = f"aggregate{len(aggregates)}"
            aggregates.append(
                {"name": name, "hosts": list(host_names[start : start + size]), "metadata": metadata(number)}
            )
    return aggregates
