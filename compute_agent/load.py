# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a service host do beside running guests: simulated monitors, and memory used from outside."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import os_resource_classes as resource_classes

from compute_agent.nodes import Node
from compute_agent.profile import Profile
from compute_agent.tracker import Tracker

CPU_PERCENT = "cpu.percent"  # 0 to 100, to a tenth


class Load:
    """One service host's. One thread at a time."""

    def __init__(self, host: str, nodes: Sequence[Node], tracker: Tracker, profile: Callable[[], Profile]) -> None:
        self._host = host
        self._nodes = nodes
        self._tracker = tracker
        self._profile = profile
        self._intervals = 0
        self._metrics: dict[str, Mapping[str, float]] = {}

    def pass_interval(self) -> None:
        """Let the time between two reports pass: the configured share of nodes changes."""
        profile = self._profile()
        if not profile.churn:
            return
        chance = profile.chance("churn", self._host, self._intervals)
        self._intervals += 1
        for node in self._nodes:
            # What never was measured is measured once; from then on it changes by the rate.
            if node.name not in self._metrics:
                self._metrics[node.name] = _measured(chance)
            elif chance.random() < profile.churn:
                self._metrics[node.name] = _measured(chance)
                if chance.random() < profile.external_use_rate:
                    self._use(node, chance.uniform(0.0, profile.external_use_max))

    def metrics(self, node: str) -> Mapping[str, float]:
        """Return what a node's monitors show, by metric; nothing where there is no churn."""
        return self._metrics.get(node, {})

    def _use(self, node: Node, share: float) -> None:
        inventory = node.shape.inventories.get(resource_classes.MEMORY_MB)
        if inventory is not None:
            taken = min(inventory.reserved + round(share * inventory.total), inventory.total)
            self._tracker.reserve(node.name, resource_classes.MEMORY_MB, taken)


def _measured(chance: Random) -> Mapping[str, float]:
    return {CPU_PERCENT: round(chance.uniform(0.0, 100.0), 1)}
