# SPDX-License-Identifier: Apache-2.0
"""Resource tracker: inventories of this host's nodes, and what its attempts use of them."""

import textwrap
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from compute_agent.attempt import Attempt, AttemptRef
from compute_agent.resources import withheld_capacity
from compute_agent.resources.group_matching import group_mappings
from compute_agent.resources.kinds.kind import Assignment, AssignmentRequest
from compute_agent.resources.kinds.loading import LoadedKind
from compute_agent.resources.nodes import Node
from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.inventory import Inventory, misfit
from rpcapi.resources.names import host_of

MAX_DESCRIPTION = 1000  # characters of an assignment's description, which instance records store

Allocations = Mapping[str, Mapping[str, int]]
Inventories = Mapping[str, Inventory]


class ResourceTracker:
    """Accounting of this host's own providers, which admits attempts. A spawn also needs a confirmed claim."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._hosts = {host_of(name) for name in self._nodes}
        self._full_inventories: dict[str, Inventories] = {}
        for node in self._nodes.values():
            self._full_inventories |= _declared_inventories(node)
        self._inventories = dict(self._full_inventories)  # minus withheld capacity
        self._used: dict[str, dict[str, int]] = {name: {} for name in self._inventories}
        self._live_attempts: dict[AttemptRef, Attempt] = {}
        self._assignments: dict[tuple[str, str], dict[AttemptRef, Assignment]] = {}  # {(node, kind): assignments}
        self._unreported_changes = False
        self.drops = 0  # number of dropped attempts
        self._overcommitted_nodes: set[str] = set()
        self._withholding_lock = threading.Lock()

    def admit(self, intent: Attempt, requirements: BuildRequirements) -> Attempt | str:
        """Return the attempt with its assignments, or why it does not fit. Counts nothing, see ``hold``."""
        node = self._nodes.get(intent.name)
        if node is None:
            return f"there is no node {intent.name} on this host"
        reason = self.misfit(intent.allocations)
        if reason is not None:
            return reason
        assignments: dict[str, Assignment] = {}
        node_amounts = _node_amounts(node.name, intent.allocations)
        for kind in node.shape.kinds:
            request = AssignmentRequest(
                requirements,
                kind.amounts(node_amounts),
                node_amounts,
                partial(group_mappings, node, requirements, intent.allocations),
            )
            assignment = kind.assign(request, self._assignments_of(node.name, kind))
            if isinstance(assignment, str):
                return f"node {node.name}: {assignment}"
            if assignment:
                assignments[kind.name] = assignment
        return replace(intent, assignments=assignments) if assignments else intent

    def misfit(self, allocations: Allocations) -> str | None:
        """Return why the amounts do not fit next to the live attempts; None if they fit."""
        for provider, amounts in allocations.items():
            if host_of(provider) not in self._hosts:
                continue
            inventories = self._inventories.get(provider)
            if inventories is None:
                return f"there is no provider {provider} on this host"
            used = self._used[provider]
            resource_class = misfit(inventories, used, amounts)
            if resource_class is not None:
                return _misfit_message(
                    provider,
                    resource_class,
                    inventories.get(resource_class),
                    used.get(resource_class, 0),
                    amounts[resource_class],
                )
        return None

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def hold(self, attempt: Attempt) -> None:
        """Count the attempt's resources as used. Idempotent."""
        if attempt.ref not in self._live_attempts:
            self._live_attempts[attempt.ref] = attempt
            self._count(attempt, 1)
            for kind, assignment in attempt.assignments.items():
                self._assignments.setdefault((attempt.name, kind), {})[attempt.ref] = assignment
            self._unreported_changes |= bool(attempt.assignments)

    def drop(self, ref: AttemptRef) -> None:
        attempt = self._live_attempts.pop(ref, None)
        if attempt is not None:
            self.drops += 1
            self._count(attempt, -1)
            for kind in attempt.assignments:
                self._assignments[(attempt.name, kind)].pop(ref, None)
            self._unreported_changes |= bool(attempt.assignments)

    def take_unreported_changes(self) -> bool:
        changed, self._unreported_changes = self._unreported_changes, False
        return changed

    def inventories(self, provider: str) -> Inventories:
        """Return current inventories; unchanged ones are the shape's own objects."""
        return self._inventories[provider]

    def kind_reports(self, node: Node) -> Mapping[str, Any]:
        """Return report keys of the node's resource kinds. Safe while another thread changes the tracker."""
        entries: dict[str, Any] = {}
        for kind in node.shape.kinds:
            if kind.adds_to_reports:
                for key, value in kind.report(self._assignments_of(node.name, kind)).items():
                    entries[key] = {**entries[key], **value} if isinstance(entries.get(key), dict) else value
        return entries

    def describe(self, attempt: Attempt) -> str:
        node = self._nodes.get(attempt.name)
        kinds = node.shape.kinds if node else ()
        words = (kind.describe(attempt.assignments[kind.name]) for kind in kinds if kind.name in attempt.assignments)
        return textwrap.shorten("; ".join(filter(None, words)), MAX_DESCRIPTION, placeholder=" ...")

    def reserve(self, node: str, resource_class: str, amount: int) -> bool:
        """Reserve ``amount`` for the host itself, even during admissions; return False if guests use it."""
        before = self._full_inventories[node]
        inventory = replace(before[resource_class], reserved=amount)
        if inventory.capacity < self._used[node].get(resource_class, 0):
            return False
        self._full_inventories[node] = {**before, resource_class: inventory}
        self._withhold_excess(node)
        return True

    def used(self, provider: str) -> dict[str, int]:
        return dict(self._used.get(provider, {}))

    def instances(self) -> dict[str, int]:
        counts = dict.fromkeys(self._nodes, 0)
        for attempt in list(self._live_attempts.values()):
            counts[attempt.name] = counts.get(attempt.name, 0) + 1
        return counts

    def excess(self) -> dict[str, dict[str, int]]:
        """Return {provider: {class: amount above capacity}}, caused by smaller shapes or re-asserted claims."""
        excess: dict[str, dict[str, int]] = {}
        for provider, used in self._used.items():
            over = withheld_capacity.excess_amounts({provider: used}, self._full_inventories)
            if over:
                excess[provider] = dict(over)
        return excess

    def _assignments_of(self, node: str, kind: LoadedKind) -> list[Assignment]:
        return list(self._assignments.get((node, kind.name), {}).values())

    def _count(self, attempt: Attempt, sign: int) -> None:
        own_allocations = {
            name: amounts for name, amounts in attempt.allocations.items() if host_of(name) in self._hosts
        }
        for provider, amounts in own_allocations.items():
            used = self._used.setdefault(provider, {})
            for resource_class, amount in amounts.items():
                used[resource_class] = used.get(resource_class, 0) + sign * amount
        if attempt.name in self._overcommitted_nodes or withheld_capacity.excess_amounts(
            {provider: self._used[provider] for provider in own_allocations}, self._full_inventories
        ):
            self._withhold_excess(attempt.name)

    def _withhold_excess(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        with self._withholding_lock:
            inventories = {provider: self._full_inventories[provider] for provider in _declared_inventories(node)}
            used = {
                provider: amounts
                for provider, amounts in list(self._used.items())
                if f"{provider}/".startswith(f"{name}/")
            }
            self._inventories.update(withheld_capacity.withhold_capacity(inventories, used))
            if withheld_capacity.excess_amounts(used, inventories):
                self._overcommitted_nodes.add(name)
            else:
                self._overcommitted_nodes.discard(name)


def _declared_inventories(node: Node) -> dict[str, Inventories]:
    children = {f"{node.name}/{provider.path}": provider.inventories for provider in node.shape.child_providers}
    return {node.name: node.shape.inventories, **children}


def _node_amounts(node: str, allocations: Allocations) -> Allocations:
    amounts_by_path = {}
    for provider, amounts in allocations.items():
        if provider == node:
            amounts_by_path[""] = amounts
        elif provider.startswith(f"{node}/"):
            amounts_by_path[provider.removeprefix(f"{node}/")] = amounts
    return amounts_by_path


def _misfit_message(provider: str, resource_class: str, inventory: Inventory | None, used: int, amount: int) -> str:
    if inventory is None:
        return f"provider {provider} has no {resource_class}"
    return f"provider {provider} cannot provide {amount} {resource_class}: {used} of {inventory.capacity} are in use"
