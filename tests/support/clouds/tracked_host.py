# SPDX-License-Identifier: Apache-2.0
"""A host's agent and what schedulers see of it."""

import itertools
from collections.abc import Iterator
from typing import Any

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.resources.tracker import ResourceTracker
from rpcapi import objects
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import AllocationCandidate, Provider, ProviderInventory, ProviderTree
from scheduler_svc.core.trees.numa import read_conditions
from tests.support.agent.machines import node


class TrackedHost:
    """An agent's tracker, and a scheduler worker's view of it."""

    def __init__(self, text: str) -> None:
        self.node = node(text)
        self.tracker = ResourceTracker([self.node])
        self.attempts: dict[AttemptRef, Attempt] = {}

    def tree(self) -> ProviderTree:
        name = self.node.name
        parts = [
            ("", "", self.node.shape.traits),
            *((e.path, e.parent, e.traits) for e in self.node.shape.child_providers),
        ]
        providers = []
        for path, parent, traits in parts:
            provider_name = f"{name}/{path}" if path else name
            used = self.tracker.used(provider_name)
            provider_inventories = {
                key: ProviderInventory(i.capacity, used.get(key, 0), i.min_unit, i.max_unit, i.step_size)
                for key, i in self.tracker.inventories(provider_name).items()
            }
            parent_name = None if not path else f"{name}/{parent}" if parent else name
            providers.append(Provider(provider_name, parent_name, provider_inventories, frozenset(traits)))
        return ProviderTree(providers)

    def find_allocation(
        self, spec: objects.RequestSpec, steps: StepBudget | None = None
    ) -> AllocationCandidate | NoCandidateReason:
        """Search like a scheduler worker, by default without a limit that matters."""
        tree = self.tree()
        conditions = read_conditions(spec.numa, self.tracker.kind_reports(self.node)["numa"], tree)
        request = BuildRequirements.from_spec(spec).tree_request
        return find_first(tree, request, steps or StepBudget(1_000_000), conditions)

    def admit(self, number: int, spec: objects.RequestSpec, allocations: Any) -> Attempt | str:
        intent = Attempt(str(number), 1, Stage.INTENT, 0, name=self.node.name, allocations=allocations)
        return self.tracker.admit(intent, BuildRequirements.from_spec(spec))

    def possible_allocations(self, spec: objects.RequestSpec) -> Iterator[dict[str, dict[str, int]]]:
        """Yield every combination of providers for the groups."""
        name = self.node.name
        child_names = [f"{name}/{child.path}" for child in self.node.shape.child_providers]
        for providers in itertools.product(child_names, repeat=len(spec.groups)):
            allocations: dict[str, dict[str, int]] = {name: dict(spec.resources)}
            for provider, group in zip(providers, spec.groups.values(), strict=True):
                amounts = allocations.setdefault(provider, {})
                for key, amount in group["resources"].items():
                    amounts[key] = amounts.get(key, 0) + amount
            yield allocations
