# SPDX-License-Identifier: Apache-2.0
"""The hosts and requests that gantt and its peers are given alike."""

import itertools
from dataclasses import dataclass
from typing import Any

from devstack.lab import hosts, requests
from devstack.lab.decide import MIX

LOADED = 0.9  # each host is loaded up to a share between 0 and this
ROOMY = {"VCPU": 16, "MEMORY_MB": 16_384, "DISK_GB": 16}  # what a host must have free to be claimed on, time and again


@dataclass(frozen=True, slots=True)
class Field:
    """So many hosts, unevenly loaded; the same for the same size."""

    size: int

    @property
    def nodes(self) -> hosts.Nodes:
        """The hosts as agents report them, without what is in use."""
        return hosts.make(self.size)

    def told(self) -> list[dict[str, Any]]:
        """Return the hosts as a peer is told of them: totals, what is reserved, what is in use."""
        nodes = self.nodes
        used = hosts.load(nodes, LOADED)
        return [
            {
                "name": name.replace("/", "-"),
                "total": {each: unit["total"] for each, unit in told["inventories"].items()},
                "reserved": {each: unit["reserved"] for each, unit in told["inventories"].items()},
                "used": used[name],
                "cpu_ratio": told["inventories"]["VCPU"]["allocation_ratio"],
                "roomy": all(told["inventories"][each]["capacity"] - used[name][each] >= ROOMY[each] for each in ROOMY),
            }
            for name, told in nodes.items()
        ]

    @staticmethod
    def asked() -> list[dict[str, int]]:
        """Return the requests that take turns."""
        return [dict(wanted.request.resources) for wanted in itertools.islice(requests.stream(3), MIX)]
