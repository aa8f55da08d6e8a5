# SPDX-License-Identifier: Apache-2.0
"""Random clouds for weighers, as plain dictionaries: for oracles, for a peer process, and as a host table.

A cloud is {"hosts", "aggregates", "request", "multipliers", "metrics", "properties"}. A host is {"name", "partition",
"total", "used", "devices", "metrics", "facts", "members", "images"}: free PCI devices, members of the request's server
group, and the properties of its instances' images. ``metrics`` and ``properties`` are the settings of the two weighers
that have one.
"""

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.conf.weighers import AGGREGATE_OPTIONS, METRICS, OPTIONS
from scheduler_svc.core.records import ClaimGroup, Snapshot
from scheduler_svc.core.request import DecisionContext, SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers import scoring
from scheduler_svc.core.weighers.options import MetricWeights, WeigherOptions
from tests.support.scheduler.hosts import EPOCH, node, provider

Cloud = Mapping[str, Any]

PARTITIONS = ("east", "west")
DEVICES = "CUSTOM_PCI_8086_154D"
TOTALS = {"VCPU": 16, "MEMORY_MB": 65536, "DISK_GB": 1000}
VALUES = ("2", "0", "-1.5", "1e3", "0.25", "much", "nan", "", " 3 ")
IMAGES = {"os_distro": ("ubuntu", "centos"), "os_type": ("linux", "windows"), "hw_disk_bus": ("virtio", "scsi")}
POLICIES = (None, "soft-affinity", "soft-anti-affinity", "anti-affinity")
COUNTS = ("instances", "io_ops", "failed_builds")


def draw_cloud(rng: random.Random) -> Cloud:
    """Return a random cloud."""
    hosts = [_host(rng, f"h{number}") for number in range(rng.randint(1, 9))]
    names = [host["name"] for host in hosts]
    keys = AGGREGATE_OPTIONS
    return {
        "hosts": hosts,
        "aggregates": [
            {
                "name": f"a{number}",
                "hosts": rng.sample(names, rng.randint(0, len(names))),
                "metadata": {key: rng.choice(VALUES) for key in rng.sample(keys, rng.randint(0, len(keys)))},
            }
            for number in range(rng.randint(0, 3))
        ],
        "request": {
            "policy": rng.choice(POLICIES),
            "source": rng.choice((None, *PARTITIONS)),
            "image": _image(rng),
        },
        "multipliers": {name: rng.choice((1.0, -1.0, 2.5, 0.0, 1e6)) for name in (*OPTIONS, METRICS)},
        "metrics": {name: rng.choice((1.0, -0.5)) for name in rng.sample(("cpu.user.percent", "cpu.percent"), 2)[:2]},
        "properties": {name: rng.choice((1.0, 2.0, -1.0)) for name in rng.sample(sorted(IMAGES), 2)},
    }


def _host(rng: random.Random, name: str) -> dict[str, Any]:
    total = {key: amount_base * rng.choice((1, 1, 2)) for key, amount_base in TOTALS.items()}
    metrics = {key: rng.choice((0, 0, 1, 7)) for key in COUNTS}
    return {
        "name": name,
        "partition": rng.choice(PARTITIONS),
        "total": total,
        # Sometimes more than the total: inventory may shrink below the used amount.
        "used": {key: amount * rng.choice((0, 1, 2, 4, 5)) // 4 for key, amount in total.items()},
        "devices": rng.choice((0, 0, 3, 40, 120)),
        "metrics": metrics
        | {key: rng.randint(0, 9) for key in ("cpu.user.percent", "cpu.percent") if rng.random() < 0.8},
        "facts": rng.choice(({}, {"hypervisor_version": 6_000_000}, {"hypervisor_version": 8_002_000})),
        "members": rng.choice((0, 0, 1, 3)),
        "images": [_image(rng) for _ in range(rng.randint(0, 3))],
    }


def _image(chance: random.Random) -> dict[str, str]:
    return {key: chance.choice(values) for key, values in IMAGES.items() if chance.random() < 0.6}


def weighted(cloud: Cloud, *names: str) -> scoring.WeigherSet:
    """Return the weighers of these names, or all, with the cloud's settings."""
    configured = {name: multiplier for name, multiplier in cloud["multipliers"].items() if not names or name in names}
    return scoring.build(configured, WeigherOptions(MetricWeights(cloud["metrics"], -100.0), cloud["properties"]))


def table(cloud: Cloud, weighing: scoring.WeigherSet) -> HostTable:
    """Return the host table of the cloud; hosts keep their order within a partition."""
    host_table = HostTable(PARTITIONS, weighing.reads)
    for number, partition in enumerate(PARTITIONS):
        hosts_by_name = {host["name"]: host for host in cloud["hosts"] if host["partition"] == partition}
        host_table.load(
            Snapshot(
                epoch=EPOCH,
                position=100,
                providers={name: provider(name, _node_document(host)) for name, host in hosts_by_name.items()},
                used={name: host["used"] for name, host in hosts_by_name.items()},
                services={name: {"enabled": True} for name in hosts_by_name},
                alive=dict.fromkeys(hosts_by_name, True),
                opened=dict.fromkeys(hosts_by_name, EPOCH),
                states={"aggregate": {aggregate["name"]: aggregate for aggregate in cloud["aggregates"]}}
                if not number
                else {},
            ),
            number,
        )
    return host_table


def request(cloud: Cloud) -> SchedulingRequest:
    """Return the scheduling request, with what a worker looks up in the store."""
    policy = cloud["request"]["policy"]
    group = None if policy is None else ClaimGroup("g", GroupPolicy(policy), 9)
    return SchedulingRequest(
        "req-1",
        {"VCPU": 1, "MEMORY_MB": 1024},
        group=group,
        decision=DecisionContext(
            members={host["name"]: host["members"] for host in cloud["hosts"] if host["members"]} if group else {}
        ),
        image={"properties": cloud["request"]["image"]},
        source_partition=cloud["request"]["source"],
    )


def matching_images(host: Mapping[str, Any], name: str, value: str) -> int:
    """Return the number of a host's instances whose image has this property."""
    return sum(image.get(name) == value for image in host["images"])


def _node_document(host: Mapping[str, Any]) -> dict[str, Any]:
    amounts = host["total"] | ({DEVICES: host["devices"]} if host["devices"] else {})
    images = Counter(f"image.{name}={value}" for image in host["images"] for name, value in image.items())
    return {**node(amounts, metrics=host["metrics"] | images), "facts": host["facts"]}
