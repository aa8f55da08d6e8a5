# SPDX-License-Identifier: Apache-2.0
"""Simulated load of a service host's nodes: CPU metrics, and memory used outside guests."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import os_resource_classes as resource_classes

from compute_agent.resources.nodes import Node
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.simulator.profile import HostProfile

CPU_PERCENT = "cpu.percent"  # 0 to 100, in steps of 0.1


class SimulatedLoad:
    def __init__(
        self, host: str, nodes: Sequence[Node], tracker: ResourceTracker, profile: Callable[[], HostProfile]
    ) -> None:
        self._host = host
        self._nodes = nodes
        self._tracker = tracker
        self._profile = profile
        self._interval_count = 0
        self._metrics: dict[str, Mapping[str, float]] = {}

    def advance_interval(self) -> None:
        """Simulate one report interval, in which the configured share of nodes changes."""
        profile = self._profile()
        if not profile.churn:
            return
        rng = profile.random_source("churn", self._host, self._interval_count)
        self._interval_count += 1
        for node in self._nodes:
            # Every node gets a first measurement; later ones come at the configured rate.
            if node.name not in self._metrics:
                self._metrics[node.name] = _random_metrics(rng)
            elif rng.random() < profile.churn:
                self._metrics[node.name] = _random_metrics(rng)
                if rng.random() < profile.external_use_rate:
                    self._change_external_use(node, rng.uniform(0.0, profile.external_use_max))

    def metrics(self, node: str) -> Mapping[str, float]:
        return self._metrics.get(node, {})

    def _change_external_use(self, node: Node, share: float) -> None:
        inventory = node.shape.inventories.get(resource_classes.MEMORY_MB)
        if inventory is not None:
            reserved = min(inventory.reserved + round(share * inventory.total), inventory.total)
            self._tracker.reserve(node.name, resource_classes.MEMORY_MB, reserved)


def _random_metrics(rng: Random) -> Mapping[str, float]:
    return {CPU_PERCENT: round(rng.uniform(0.0, 100.0), 1)}
