# SPDX-License-Identifier: Apache-2.0
"""Exact search for allocation candidates in a provider tree: lazy, bounded, and pruned by symmetry."""

import enum
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rpcapi.resources import groups, transient
from rpcapi.resources.trees.requirements import GroupRequirement, list_group_requirements, root_satisfies
from rpcapi.resources.trees.symmetry import SymmetryBreaker
from rpcapi.resources.trees.tree import (
    AllocationCandidate,
    Allocations,
    Provider,
    ProviderInventory,
    ProviderTree,
    TreeRequest,
    has_traits,
)

MAX_STEPS = 4000  # limit of one search, some tens of milliseconds

Accept = Callable[[AllocationCandidate], bool]


class NoCandidateReason(enum.StrEnum):
    NONE = "no provider tree fits"
    REFUSED = "no fitting provider tree was accepted"
    STEPS = transient.SEARCH_UNFINISHED


class StepBudget:
    """Remaining placement attempts; several searches may share a budget."""

    __slots__ = ("remaining",)

    def __init__(self, limit: int = MAX_STEPS) -> None:
        self.remaining = limit

    def consume(self) -> bool:
        """Use one step; return False if the budget was used up before."""
        self.remaining -= 1
        return self.remaining >= 0

    @property
    def exhausted(self) -> bool:
        return self.remaining < 0


def find_first(
    tree: ProviderTree, request: TreeRequest, steps: StepBudget, accept: Accept | None = None
) -> AllocationCandidate | NoCandidateReason:
    any_refused = False
    for candidate in search(tree, request, steps):
        if accept is None or accept(candidate):
            return candidate
        any_refused = True
    if steps.exhausted:
        return NoCandidateReason.STEPS
    return NoCandidateReason.REFUSED if any_refused else NoCandidateReason.NONE


def search(
    tree: ProviderTree, request: TreeRequest, steps: StepBudget, *, prune: bool = True
) -> Iterator[AllocationCandidate]:
    """Yield allocation candidates until all are found or the budget is used up.

    ``prune`` yields candidates that differ only by a swap of equal groups or equivalent providers once;
    Provider.symmetry_key keeps providers apart.
    """
    if root_satisfies(tree, request):
        requirements = list_group_requirements(tree, request)
        if _may_fit(tree, request, requirements):
            yield from _Search(tree, request, requirements, steps, prune=prune).complete_from(0)


def match_allocations(
    tree: ProviderTree, request: TreeRequest, allocations: Allocations, steps: StepBudget
) -> Iterator[AllocationCandidate]:
    """Yield the assignments of request groups to providers that result in exactly ``allocations``.

    The agent of an existing claim has checked capacity and aggregates, so only shape and traits of ``tree`` matter. A
    provider outside ``tree`` belongs to another host; its traits are unknown.
    """
    requested_amounts: Counter[str] = Counter()
    allocated_amounts: Counter[str] = Counter()
    for group in request.groups:
        requested_amounts.update(group.resources)
    for amounts in allocations.values():
        allocated_amounts.update(amounts)
    if requested_amounts != allocated_amounts:
        return
    provider_ids = {provider.id for provider in tree.providers}
    providers = [
        replace(provider, inventories=_inventories_of(allocations, provider.id), aggregates=frozenset())
        for provider in tree.providers
    ]
    foreign_providers = [
        Provider(name, None, _inventories_of(allocations, name), None)
        for name in allocations
        if name not in provider_ids
    ]
    request_groups = [replace(group, member_of=(), forbidden_aggregates=(), in_tree=None) for group in request.groups]
    claimed_request = replace(request, groups=request_groups, root_required=(), root_forbidden=())
    yield from search(ProviderTree(providers, foreign_providers), claimed_request, steps)


def _inventories_of(allocations: Allocations, name: str) -> dict[str, ProviderInventory]:
    return {resource_class: ProviderInventory(amount) for resource_class, amount in allocations.get(name, {}).items()}


class _Search:
    def __init__(
        self,
        tree: ProviderTree,
        request: TreeRequest,
        requirements: Sequence[GroupRequirement],
        steps: StepBudget,
        *,
        prune: bool,
    ) -> None:
        self._steps = steps
        self._prune = prune
        self._requirements = requirements
        self._providers = [*tree.providers, *tree.sharing]
        self._collective = next((group for group in request.groups if not group.suffix), None)
        self._isolated = request.policy == groups.ISOLATE
        self._symmetry = SymmetryBreaker(tree, requirements, request)
        self._free = [
            {name: inventory.max_allocation for name, inventory in provider.inventories.items()}
            for provider in self._providers
        ]
        self._placements: list[int] = []  # provider of each requirement placed so far
        self._suffixed_providers = 0  # bit mask of the providers of suffixed groups
        self._members = [
            [number for number, requirement in enumerate(requirements) if rule in requirement.subtree_rules]
            for rule in range(len(request.same_subtree))
        ]
        self._last_collective = max(
            (n for n, requirement in enumerate(requirements) if not requirement.suffix), default=-1
        )

    def complete_from(self, number: int) -> Iterator[AllocationCandidate]:
        if number == len(self._requirements):
            yield self._candidate()
            return
        requirement = self._requirements[number]
        options = self._usable_options(number, requirement)
        for option in self._symmetry.skip_equivalent(options) if self._prune else options:
            if not self._steps.consume():
                return
            self._place(requirement, option, -1)
            if self._is_viable(number, requirement):
                yield from self.complete_from(number + 1)
            self._place(requirement, option, +1)
            if self._steps.exhausted:
                return

    def _usable_options(self, number: int, requirement: GroupRequirement) -> Iterator[int]:
        """Yield the options with enough free capacity. Interchangeable requirements use ascending providers."""
        first_option = 0
        if (
            self._prune
            and number
            and self._requirements[number - 1].interchange_key == requirement.interchange_key
            and requirement.suffix
        ):
            first_option = self._placements[-1]
        for option in requirement.options:
            if option < first_option or (
                self._isolated and requirement.suffix and self._suffixed_providers >> option & 1
            ):
                continue
            free = self._free[option]
            if all(free[name] >= amount for name, amount in requirement.amounts):
                yield option

    def _place(self, requirement: GroupRequirement, option: int, sign: int) -> None:
        free = self._free[option]
        for name, amount in requirement.amounts:
            free[name] += sign * amount
        if sign < 0:
            self._placements.append(option)
            self._symmetry.mark_used(option)
            if requirement.suffix:
                self._suffixed_providers |= 1 << option
        else:
            self._placements.pop()
            self._symmetry.unmark_used(option)
            if requirement.suffix and not any(
                placement == option and other.suffix
                for other, placement in zip(self._requirements, self._placements, strict=False)
            ):
                self._suffixed_providers &= ~(1 << option)

    def _is_viable(self, number: int, requirement: GroupRequirement) -> bool:
        """Return whether the current placements can still become a candidate."""
        if number == self._last_collective and not self._has_collective_traits():
            return False
        return all(self._may_be_subtree(self._members[rule]) for rule in requirement.subtree_rules)

    def _has_collective_traits(self) -> bool:
        group = self._collective
        if group is None:
            return True
        used = [
            self._providers[placement]
            for requirement, placement in zip(self._requirements, self._placements, strict=False)
            if not requirement.suffix
        ]
        traits = frozenset[str]().union(*(provider.traits or () for provider in used))
        return any(provider.traits is None for provider in used) or has_traits(traits, group.required, group.any_of, ())

    def _may_be_subtree(self, members: Sequence[int]) -> bool:
        """Return whether one of the rule's providers is, or can still be, an ancestor of all others."""
        common_ancestors, provider_mask = -1, 0
        for number in members:
            if number < len(self._placements):
                common_ancestors &= self._symmetry.ancestors[self._placements[number]]
                provider_mask |= 1 << self._placements[number]
        return bool(common_ancestors & provider_mask) or any(
            common_ancestors & self._requirements[number].mask for number in members if number >= len(self._placements)
        )

    def _candidate(self) -> AllocationCandidate:
        allocations: dict[str, dict[str, int]] = {}
        providers: dict[str, tuple[str, ...]] = {}
        for requirement, placement in zip(self._requirements, self._placements, strict=True):
            name = self._providers[placement].id
            amounts = allocations.setdefault(name, {}) if requirement.amounts else {}
            for resource_class, amount in requirement.amounts:
                amounts[resource_class] = amounts.get(resource_class, 0) + amount
            names = providers.get(requirement.suffix, ())
            providers[requirement.suffix] = names if name in names else (*names, name)
        return AllocationCandidate(allocations, providers)


def _may_fit(tree: ProviderTree, request: TreeRequest, requirements: Sequence[GroupRequirement]) -> bool:
    """Return whether sums allow a candidate; cheap, and rules out most trees that do not fit."""
    providers = [*tree.providers, *tree.sharing]
    if any(not requirement.options for requirement in requirements):
        return False
    requested_amounts: Counter[str] = Counter()
    option_masks: dict[str, int] = {}
    for requirement in requirements:
        for name, amount in requirement.amounts:
            requested_amounts[name] += amount
            option_masks[name] = option_masks.get(name, 0) | requirement.mask
    for name, amount in requested_amounts.items():
        if amount > sum(
            provider.inventories[name].max_allocation
            for n, provider in enumerate(providers)
            if option_masks[name] >> n & 1
        ):
            return False
    return request.policy != groups.ISOLATE or _distinct_providers_exist(
        [requirement for requirement in requirements if requirement.suffix]
    )


def _distinct_providers_exist(requirements: Sequence[GroupRequirement]) -> bool:
    """Return whether each requirement can have its own provider: bipartite matching by augmenting paths."""
    holder: dict[int, int] = {}

    def give(number: int, visited: set[int]) -> bool:
        for option in requirements[number].options:
            if option not in visited:
                visited.add(option)
                if option not in holder or give(holder[option], visited):
                    holder[option] = number
                    return True
        return False

    return all(give(number, set()) for number in range(len(requirements)))
