# SPDX-License-Identifier: Apache-2.0
"""The common hosts and requests of gantt and its peers."""

import itertools
from dataclasses import dataclass
from typing import Any

from devstack.lab import hosts, requests
from devstack.lab.decide.command import MIX

MAX_LOAD = 0.9  # each host is loaded by a random share up to this
REQUIRED_FREE = {
    "VCPU": 16,
    "MEMORY_MB": 16_384,
    "DISK_GB": 16,
}  # free amounts of a host for repeated claims


@dataclass(frozen=True, slots=True)
class PeerWorkload:
    """``size`` hosts, unevenly loaded, and requests; the same for the same size."""

    size: int

    @property
    def nodes(self) -> hosts.Nodes:
        """The hosts as agents report them, without usage."""
        return hosts.make_nodes(self.size)

    def peer_hosts(self) -> list[dict[str, Any]]:
        """Return the hosts in the peers' form: total, reserved and used amounts."""
        nodes = self.nodes
        used = hosts.make_usage(nodes, MAX_LOAD)
        return [
            {
                "name": name.replace("/", "-"),
                "total": {resource_class: unit["total"] for resource_class, unit in node["inventories"].items()},
                "reserved": {resource_class: unit["reserved"] for resource_class, unit in node["inventories"].items()},
                "used": used[name],
                "cpu_ratio": node["inventories"]["VCPU"]["allocation_ratio"],
                "roomy": all(
                    node["inventories"][resource_class]["capacity"] - used[name][resource_class]
                    >= REQUIRED_FREE[resource_class]
                    for resource_class in REQUIRED_FREE
                ),
            }
            for name, node in nodes.items()
        ]

    @staticmethod
    def peer_requests() -> list[dict[str, int]]:
        """Return the requests, which are used in turn."""
        return [dict(server.request.resources) for server in itertools.islice(requests.stream(3), MIX)]
