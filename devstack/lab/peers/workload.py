# SPDX-License-Identifier: Apache-2.0
"""Common hosts and requests of gantt and its peers, and gantt's side of each comparison."""

import contextlib
import itertools
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab import default_driver, hosts, partitions, private_servers
from devstack.lab.decide import MIX
from devstack.lab.placement.cloud import make_provider
from devstack.lab.timing import TimedSubject
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import Answer
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import Candidate, Intent
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable

MAX_LOAD = 0.9  # highest random load of a host
REQUIRED_FREE = {"VCPU": 16, "MEMORY_MB": 16_384, "DISK_GB": 16}  # free capacity of a host for repeated claims
LIMIT = 1000  # most candidates, as in Nova's requests to Placement
RESOURCES = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}


@dataclass(frozen=True, slots=True)
class PeerWorkload:
    """``size`` unevenly loaded hosts, and requests; the same for the same size."""

    size: int

    @property
    def nodes(self) -> hosts.Nodes:
        return hosts.make_nodes(self.size)

    @property
    def used(self) -> Mapping[str, Mapping[str, int]]:
        return hosts.make_usage(self.nodes, MAX_LOAD)

    def nova_hosts(self) -> list[dict[str, Any]]:
        used = self.used
        return [
            {
                "name": name.replace("/", "-"),
                "total": {resource_class: unit["total"] for resource_class, unit in node["inventories"].items()},
                "used": used[name],
                "cpu_ratio": node["inventories"]["VCPU"]["allocation_ratio"],
            }
            for name, node in self.nodes.items()
        ]

    def providers(self) -> list[dict[str, Any]]:
        """Return the hosts in the form of placement_side.py."""
        used = self.used
        return [
            make_provider(_provider(name), node["inventories"], used=used[name]) for name, node in self.nodes.items()
        ]

    def claimable(self) -> list[str]:
        return [
            _provider(name)
            for (name, node), used in zip(self.nodes.items(), self.used.values(), strict=True)
            if all(
                node["inventories"][resource_class]["capacity"] - used[resource_class] >= amount
                for resource_class, amount in REQUIRED_FREE.items()
            )
        ]

    @staticmethod
    def peer_requests() -> list[dict[str, int]]:
        return [dict(server.request.resources) for server in itertools.islice(hosts.stream(3), MIX)]


def _provider(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def candidates_subject(table: HostTable) -> TimedSubject:
    filters = default_driver.filters()
    requests = [SchedulingRequest("peers", amounts) for amounts in PeerWorkload.peer_requests()]

    def find(number: int) -> Any:
        with table.reading() as view:
            rows = np.flatnonzero(pipeline.run(filters, view, requests[number % len(requests)]).passes)[:LIMIT]
            return [view.name(row) for row in rows.tolist()]

    return find


@contextlib.contextmanager
def claim_subject(workload: PeerWorkload) -> Iterator[TimedSubject]:
    """Yield a subject that claims for a new consumer on the next host, in a private Redis (everysec)."""
    with (
        private_servers.running_redis("everysec") as server,
        partitions.opened(server.url(), "peers") as store,
    ):
        nodes = workload.nodes
        hosts.join(store, nodes)
        names = list(nodes)
        snapshot = store.snapshot()

        def claim(number: int) -> None:
            consumer = str(uuid.uuid4())
            intents = [Intent(consumer, 1, [Candidate(names[number % len(names)])])]
            record = {"driver": "FilterDriver", "seed": number, "hosts": len(names)}
            batch = hosts.claim_batch(snapshot, intents, RESOURCES, record)
            result = store.prepare(batch).prepared[0]
            if result.answer is not Answer.PREPARED:
                raise CommandFailed(f"gantt's claim was answered {result.answer}: {result.verdicts}")

        yield claim
