# SPDX-License-Identifier: Apache-2.0
"""The resource tracker: what this host's nodes have, and what the host itself has promised of it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compute_agent.attempt import Attempt, Ref
from compute_agent.nodes import Node
from rpcapi.model import fit
from rpcapi.model.inventory import Inventory

Allocations = Mapping[str, Mapping[str, int]]
Inventories = Mapping[str, Inventory]


class Tracker:
    """Admits or refuses by the local view; the store's claims are another's view, and both must agree to a spawn."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._inventories: dict[str, Inventories] = {node.name: node.shape.inventories for node in nodes}
        self._used: dict[str, dict[str, int]] = {name: {} for name in self._inventories}
        self._held: dict[Ref, Allocations] = {}

    def misfit(self, allocations: Allocations) -> str | None:
        """Return a sentence why this cannot be taken beside what is held, or None when it can."""
        for provider, amounts in allocations.items():
            inventories = self._inventories.get(provider)
            if inventories is None:
                return f"there is no node {provider} on this host"
            used = self._used[provider]
            wrong = fit.misfit(inventories, used, amounts)
            if wrong is not None:
                inventory = inventories.get(wrong)
                if inventory is None:
                    return f"node {provider} has no {wrong}"
                return (
                    f"node {provider} cannot give {amounts[wrong]} {wrong}: "
                    f"{used.get(wrong, 0)} of {inventory.capacity} are in use"
                )
        return None

    def hold(self, attempt: Attempt) -> None:
        """Count what an attempt holds; once, however often it is called."""
        if attempt.ref not in self._held:
            self._held[attempt.ref] = attempt.allocations
            self._count(attempt.allocations, 1)

    def drop(self, ref: Ref) -> None:
        """Count an attempt no more; fine when it is not held."""
        allocations = self._held.pop(ref, None)
        if allocations is not None:
            self._count(allocations, -1)

    def inventories(self, node: str) -> Inventories:
        """Return what a node has, as it is now; the very shape's own until something of it changes."""
        return self._inventories[node]

    def reserve(self, node: str, resource_class: str, amount: int) -> bool:
        """Let the host keep ``amount`` of a node's class for itself; False, and nothing changes, where guests hold it.

        May be called beside the one thread that writes here: what is being admitted just then is judged by what was.
        """
        before = self._inventories[node]
        inventory = replace(before[resource_class], reserved=amount)
        if inventory.capacity < self._used[node].get(resource_class, 0):
            return False
        self._inventories[node] = {**before, resource_class: inventory}
        return True

    def used(self, node: str) -> dict[str, int]:
        """Return what is held of a node, by class."""
        return dict(self._used.get(node, {}))

    def instances(self) -> dict[str, int]:
        """Return how many attempts hold something of each node."""
        counts = dict.fromkeys(self._inventories, 0)
        for allocations in list(self._held.values()):
            for provider in allocations:
                counts[provider] = counts.get(provider, 0) + 1
        return counts

    def excess(self) -> dict[str, dict[str, int]]:
        """Return by how much each node is over its capacity, by class: a shape that shrank, or an audit's doing."""
        found: dict[str, dict[str, int]] = {}
        for provider, used in self._used.items():
            inventories = self._inventories.get(provider, {})
            over = {
                resource_class: amount - (inventories[resource_class].capacity if resource_class in inventories else 0)
                for resource_class, amount in used.items()
            }
            over = {resource_class: amount for resource_class, amount in over.items() if amount > 0}
            if over:
                found[provider] = over
        return found

    def _count(self, allocations: Allocations, sign: int) -> None:
        for provider, amounts in allocations.items():
            used = self._used.setdefault(provider, {})
            for resource_class, amount in amounts.items():
                used[resource_class] = used.get(resource_class, 0) + sign * amount
