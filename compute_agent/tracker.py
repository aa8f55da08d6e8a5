# SPDX-License-Identifier: Apache-2.0
"""The resource tracker: what this host's nodes have, and what the host itself has promised of it."""

import textwrap
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from compute_agent import stranded
from compute_agent.attempt import Attempt, Ref
from compute_agent.kinds.kind import Asked, Assignment
from compute_agent.kinds.loading import Loaded
from compute_agent.nodes import Node
from compute_agent.ways import ways
from compute_agent.wish import Wish
from rpcapi.model import fit
from rpcapi.model.inventory import Inventory
from rpcapi.model.names import host_of

MOST_TOLD = 1000  # characters of what an attempt was given: records keep it

Allocations = Mapping[str, Mapping[str, int]]
Inventories = Mapping[str, Inventory]


class Tracker:
    """Admits or refuses by the local view; the store's claims are another's view, and both must agree to a spawn.

    What a claim holds of another host's providers is that host's affair and counted nowhere here.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._hosts = {host_of(name) for name in self._nodes}
        self._given: dict[str, Inventories] = {}
        for node in self._nodes.values():
            self._given |= _given(node)
        self._inventories = dict(self._given)  # less what is kept back for guests of before a shape changed
        self._used: dict[str, dict[str, int]] = {name: {} for name in self._inventories}
        self._held: dict[Ref, Attempt] = {}
        self._taken: dict[tuple[str, str], dict[Ref, Assignment]] = {}  # by node and kind
        self._untold = False
        self._strained: set[str] = set()  # nodes of which guests hold more than there is
        self._keeping_back = threading.Lock()

    def admit(self, intent: Attempt, wish: Wish) -> Attempt | str:
        """Return the attempt with what it is given of each kind beside what is held, or a sentence why not.

        Nothing is held by that yet.
        """
        node = self._nodes.get(intent.name)
        if node is None:
            return f"there is no node {intent.name} on this host"
        reason = self.misfit(intent.allocations)
        if reason is not None:
            return reason
        assignments: dict[str, Assignment] = {}
        held = _below(node.name, intent.allocations)
        for loaded in node.shape.kinds:
            asked = Asked(wish, loaded.amounts(held), held, lambda: ways(node, wish.wanted, intent.allocations))
            got = loaded.assign(asked, self._taken_of(node.name, loaded))
            if isinstance(got, str):
                return f"node {node.name}: {got}"
            if got:
                assignments[loaded.name] = got
        return replace(intent, assignments=assignments) if assignments else intent

    def misfit(self, allocations: Allocations) -> str | None:
        """Return a sentence why these amounts cannot be taken beside what is held, or None when they can."""
        for provider, amounts in allocations.items():
            if host_of(provider) not in self._hosts:
                continue
            inventories = self._inventories.get(provider)
            if inventories is None:
                return f"there is no provider {provider} on this host"
            used = self._used[provider]
            wrong = fit.misfit(inventories, used, amounts)
            if wrong is not None:
                return _no_room(provider, wrong, inventories.get(wrong), used.get(wrong, 0), amounts[wrong])
        return None

    def hold(self, attempt: Attempt) -> None:
        """Count what an attempt holds; once, however often it is called."""
        if attempt.ref not in self._held:
            self._held[attempt.ref] = attempt
            self._count(attempt, 1)
            for kind, assignment in attempt.assignments.items():
                self._taken.setdefault((attempt.name, kind), {})[attempt.ref] = assignment
            self._untold |= bool(attempt.assignments)

    def drop(self, ref: Ref) -> None:
        """Count an attempt no more; fine when it is not held."""
        attempt = self._held.pop(ref, None)
        if attempt is not None:
            self._count(attempt, -1)
            for kind in attempt.assignments:
                self._taken[(attempt.name, kind)].pop(ref, None)
            self._untold |= bool(attempt.assignments)

    def take_untold(self) -> bool:
        """Tell, once, whether certain CPUs or devices have changed hands since this was asked last."""
        untold, self._untold = self._untold, False
        return untold

    def inventories(self, provider: str) -> Inventories:
        """Return what a provider has, as it is now; the very shape's own until something of it changes."""
        return self._inventories[provider]

    def reports(self, node: Node) -> Mapping[str, Any]:
        """Return what the kinds add to a node's report, by its key. May be called beside the one thread that writes."""
        told: dict[str, Any] = {}
        for loaded in node.shape.kinds:
            if loaded.telling:
                for key, value in loaded.report(self._taken_of(node.name, loaded)).items():
                    told[key] = {**told[key], **value} if isinstance(told.get(key), dict) else value
        return told

    def describe(self, attempt: Attempt) -> str:
        """Return, for people, what an attempt was given beside amounts."""
        node = self._nodes.get(attempt.name)
        kinds = node.shape.kinds if node else ()
        words = (each.describe(attempt.assignments[each.name]) for each in kinds if each.name in attempt.assignments)
        return textwrap.shorten("; ".join(filter(None, words)), MOST_TOLD, placeholder=" ...")

    def reserve(self, node: str, resource_class: str, amount: int) -> bool:
        """Let the host keep ``amount`` of a node's class for itself; False, and nothing changes, where guests hold it.

        May be called beside the one thread that writes here: what is being admitted just then is judged by what was.
        """
        before = self._given[node]
        inventory = replace(before[resource_class], reserved=amount)
        if inventory.capacity < self._used[node].get(resource_class, 0):
            return False
        self._given[node] = {**before, resource_class: inventory}
        self._keep_back(node)
        return True

    def used(self, provider: str) -> dict[str, int]:
        """Return what is held of a provider, by class."""
        return dict(self._used.get(provider, {}))

    def instances(self) -> dict[str, int]:
        """Return how many attempts hold something of each node."""
        counts = dict.fromkeys(self._nodes, 0)
        for attempt in list(self._held.values()):
            counts[attempt.name] = counts.get(attempt.name, 0) + 1
        return counts

    def excess(self) -> dict[str, dict[str, int]]:
        """Return by how much each provider is over its capacity, by class: a shape that shrank, or an audit's doing."""
        found: dict[str, dict[str, int]] = {}
        for provider, used in self._used.items():
            inventories = self._given.get(provider, {})
            over = {
                resource_class: amount - (inventories[resource_class].capacity if resource_class in inventories else 0)
                for resource_class, amount in used.items()
            }
            over = {resource_class: amount for resource_class, amount in over.items() if amount > 0}
            if over:
                found[provider] = over
        return found

    def _taken_of(self, node: str, loaded: Loaded) -> list[Assignment]:
        return list(self._taken.get((node, loaded.name), {}).values())

    def _count(self, attempt: Attempt, sign: int) -> None:
        own = {name: amounts for name, amounts in attempt.allocations.items() if host_of(name) in self._hosts}
        for provider, amounts in own.items():
            used = self._used.setdefault(provider, {})
            for resource_class, amount in amounts.items():
                used[resource_class] = used.get(resource_class, 0) + sign * amount
        if attempt.name in self._strained or stranded.amounts({each: self._used[each] for each in own}, self._given):
            self._keep_back(attempt.name)

    def _keep_back(self, name: str) -> None:
        """Have what guests hold of a node's providers beyond what these have sold to nobody by its others."""
        node = self._nodes.get(name)
        if node is None:
            return
        with self._keeping_back:
            given = {provider: self._given[provider] for provider in _given(node)}
            used = {each: held for each, held in list(self._used.items()) if f"{each}/".startswith(f"{name}/")}
            self._inventories.update(stranded.kept_back(given, used))
            if stranded.amounts(used, given):
                self._strained.add(name)
            else:
                self._strained.discard(name)


def _given(node: Node) -> dict[str, Inventories]:
    """Return what a node and what is below it have by the node's shape."""
    below = {f"{node.name}/{each.path}": each.inventories for each in node.shape.below}
    return {node.name: node.shape.inventories, **below}


def _below(node: str, allocations: Allocations) -> Allocations:
    """Return what is held of a node and what is below it, by path."""
    held = {}
    for provider, amounts in allocations.items():
        if provider == node:
            held[""] = amounts
        elif provider.startswith(f"{node}/"):
            held[provider.removeprefix(f"{node}/")] = amounts
    return held


def _no_room(provider: str, wrong: str, inventory: Inventory | None, used: int, amount: int) -> str:
    if inventory is None:
        return f"provider {provider} has no {wrong}"
    return f"provider {provider} cannot give {amount} {wrong}: {used} of {inventory.capacity} are in use"
