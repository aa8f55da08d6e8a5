# SPDX-License-Identifier: Apache-2.0
"""Exact search for allocation candidates in a provider tree: lazy, bounded, and pruned by symmetry."""

import enum
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from rpcapi.resources import groups
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.trees.bounds import count_servable, distinct_providers_exist, sums_suffice
from rpcapi.resources.trees.cells import CellRules
from rpcapi.resources.trees.requirements import NO_TOPOLOGY, GroupRequirement, list_group_requirements, root_satisfies
from rpcapi.resources.trees.symmetry import SymmetryBreaker
from rpcapi.resources.trees.tree import AllocationCandidate, ProviderTree, TreeRequest, find_paths, has_traits

MAX_STEPS = 1500  # limit of one search, some 30 ms
RETRY_FACTOR = 8  # more steps for a second search of hosts that the first did not decide


class NoCandidateReason(enum.StrEnum):
    NONE = "no provider tree fits"
    UNDECIDED = "not decided within the search budget"


class StepBudget:
    """Remaining placement attempts; several searches may share a budget."""

    __slots__ = ("remaining",)

    def __init__(self, limit: int = MAX_STEPS) -> None:
        self.remaining = limit

    def consume(self) -> bool:
        """Use one step; return False if none was left."""
        self.remaining -= 1
        return self.remaining >= 0

    @property
    def exhausted(self) -> bool:
        return self.remaining < 0


def find_first(
    tree: ProviderTree, request: TreeRequest, steps: StepBudget, numa: NumaConditions = NO_TOPOLOGY
) -> AllocationCandidate | NoCandidateReason:
    for candidate in search(tree, request, steps, numa):
        return candidate
    return NoCandidateReason.UNDECIDED if steps.exhausted else NoCandidateReason.NONE


def search(
    tree: ProviderTree,
    request: TreeRequest,
    steps: StepBudget,
    numa: NumaConditions = NO_TOPOLOGY,
    *,
    prune: bool = True,
) -> Iterator[AllocationCandidate]:
    """Yield candidates within the budget; ``prune`` skips mere swaps of equal groups or equivalent providers."""
    if root_satisfies(tree, request):
        requirements = list_group_requirements(tree, request, numa)
        if all(requirement.options for requirement in requirements):
            yield from _Search(tree, request, requirements, steps, numa, prune=prune).candidates()


class _Search:
    """Depth-first placement of requirements, guest cells first; skips states known to have no completion."""

    def __init__(
        self,
        tree: ProviderTree,
        request: TreeRequest,
        requirements: Sequence[GroupRequirement],
        steps: StepBudget,
        numa: NumaConditions,
        *,
        prune: bool,
    ) -> None:
        self._steps = steps
        self._prune = prune
        self._requirements = requirements
        self._kinds = {requirement.kind: requirement for requirement in requirements}
        self._options = {kind: requirement.options for kind, requirement in self._kinds.items()}
        self._providers = [*tree.providers, *tree.sharing]
        self._collective = next((group for group in request.groups if not group.suffix), None)
        self._last_collective = max((n for n, group in enumerate(requirements) if not group.suffix), default=-1)
        self._isolated = request.policy == groups.ISOLATE
        self._members = [
            [number for number, requirement in enumerate(requirements) if rule in requirement.subtree_rules]
            for rule in range(len(request.same_subtree))
        ]
        self._free = [
            {name: inventory.max_allocation for name, inventory in provider.inventories.items()}
            for provider in self._providers
        ]
        paths = find_paths(tree)
        self._ancestors = [sum(1 << number for number in path) for path in paths]
        self._guest_count = sum(requirement.guest_cell is not None for requirement in requirements)
        self._has_all_cells = self._guest_count == len(numa.guest.cells)
        self._cells = self._cell_rules(tree, numa) if numa.guest.cells or numa.guest.devices else None
        cell_keys = self._cells.symmetry_keys if self._cells else {}
        self._symmetry = SymmetryBreaker(tree, paths, requirements, request, cell_keys)
        self._reach: dict[int, int] = {}  # bit mask of providers near the guest, by kind of device
        self._dead_states: set[Hashable] = set()
        self._placements: list[int] = []  # provider of each requirement placed so far
        self._suffixed_providers = 0  # bit mask of providers

    def _cell_rules(self, tree: ProviderTree, numa: NumaConditions) -> CellRules:
        servable = {
            kind: {option: self._count_servable(requirement, option) for option in requirement.options}
            for kind, requirement in self._kinds.items()
        }
        rules = CellRules(tree, self._ancestors, self._requirements, numa, servable)
        for requirement in self._requirements[: self._guest_count]:
            self._options[requirement.kind] = rules.sort_cells(requirement.options)
        return rules

    def candidates(self) -> Iterator[AllocationCandidate]:
        separate = [requirement for requirement in self._requirements if self._is_separate(requirement)]
        if self._has_all_cells and self._may_fit(0) and distinct_providers_exist(separate):
            yield from self._complete_from(0)

    def _complete_from(self, number: int) -> Iterator[AllocationCandidate]:
        if number == len(self._requirements):
            yield self._candidate()
            return
        if self._cells and number == self._guest_count:
            self._reach = self._cells.reach(self._placements)
        requirement = self._requirements[number]
        begins_kind = not number or self._requirements[number - 1].kind != requirement.kind
        if begins_kind and self._is_dead(number):
            return
        is_dead = True
        options = self._usable_options(number, requirement)
        for option in self._symmetry.skip_equivalent(options) if self._prune else options:
            if not self._steps.consume():
                return
            self._place(requirement, option, -1)
            if self._is_viable(number, requirement):
                for candidate in self._complete_from(number + 1):
                    is_dead = False
                    yield candidate
            self._place(requirement, option, +1)
            if self._steps.exhausted:
                return
        if is_dead and begins_kind:
            self._dead_states.add(self._state(number))

    def _is_dead(self, number: int) -> bool:
        """Return whether requirements from ``number`` on are known not to fit. Cheap until the first backtrack."""
        if self._dead_states and self._state(number) in self._dead_states:
            return True
        is_narrowed = self._cells is not None and number == self._guest_count
        if number < self._guest_count or not (self._dead_states or is_narrowed) or self._may_fit(number):
            return False
        self._dead_states.add(self._state(number))
        return True

    def _usable_options(self, number: int, requirement: GroupRequirement) -> Iterator[int]:
        """Yield options with enough free capacity; interchangeable requirements take them in list order."""
        options = self._options[requirement.kind]
        if self._prune and number and self._requirements[number - 1].kind == requirement.kind:
            options = options[options.index(self._placements[-1]) :]
        excluded = self._suffixed_providers if self._isolated and requirement.suffix else 0
        if number < self._guest_count:
            excluded |= sum(1 << cell for cell in self._placements)
        elif requirement.kind in self._reach:
            excluded |= ~self._reach[requirement.kind]
        for option in options:
            if not excluded >> option & 1 and self._has_free(requirement, option):
                yield option

    def _has_free(self, requirement: GroupRequirement, option: int) -> bool:
        free = self._free[option]
        for name, amount in requirement.amounts:  # noqa: SIM110  # twice as fast as all()
            if free[name] < amount:
                return False
        return True

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
        if number == self._last_collective and not self._has_collective_traits():
            return False
        if self._cells and not self._fits_cells(self._cells, number):
            return False
        return all(self._may_be_subtree(self._members[rule]) for rule in requirement.subtree_rules)

    def _fits_cells(self, cells: CellRules, number: int) -> bool:
        if number < self._guest_count:
            more = self._guest_count - number - 1
            return cells.may_reach_devices(self._placements, more, self._remaining_cells(number))
        option = self._placements[-1]
        if not cells.is_contended or option not in cells:
            return True
        guests = dict(zip(self._placements[: self._guest_count], self._requirements, strict=False))
        inventories = self._providers[option].inventories
        amounts = {name: inventories[name].max_allocation - free for name, free in self._free[option].items()}
        return cells.fits(option, guests.get(option), {name: amount for name, amount in amounts.items() if amount})

    def _remaining_cells(self, number: int) -> set[int]:
        """Return the host cells that guest cells after ``number`` may use."""
        kind = self._requirements[number].kind
        cells: set[int] = set()
        for other in {later.kind for later in self._requirements[number + 1 : self._guest_count]}:
            options = self._options[other]
            cells.update(options[options.index(self._placements[-1]) :] if self._prune and other == kind else options)
        return cells.difference(self._placements)

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
        """Return whether a provider of the rule is, or can still be, an ancestor of all others."""
        common_ancestors, provider_mask = -1, 0
        for number in members:
            if number < len(self._placements):
                common_ancestors &= self._ancestors[self._placements[number]]
                provider_mask |= 1 << self._placements[number]
        return bool(common_ancestors & provider_mask) or any(
            common_ancestors & self._requirements[number].mask for number in members if number >= len(self._placements)
        )

    def _state(self, number: int) -> Hashable:
        """Return all that requirements from ``number`` on depend on: equal states have equal completions."""
        guests = self._placements[: self._guest_count]
        host_cells = tuple(guests) if self._cells and self._cells.is_contended else frozenset(guests)
        if number <= self._guest_count:
            return number, host_cells
        remaining = [self._kinds[kind] for kind in self._count_kinds(number)]
        providers = []
        for option, free in enumerate(self._free):
            usable = [group for group in remaining if group.mask >> option & 1 and self._has_free(group, option)]
            if usable:
                classes = {name for group in usable for name, _ in group.amounts}
                amounts = tuple((name, amount) for name, amount in free.items() if name in classes)
                key = (option,) if self._members else self._symmetry.swap_key(option)
                providers.append((key, amounts, self._isolated and self._suffixed_providers >> option & 1))
        related = [self._placements[member] for rule in self._members for member in rule if member < number]
        if number <= self._last_collective:
            pairs = zip(self._requirements, self._placements, strict=False)
            related += [placement for requirement, placement in pairs if not requirement.suffix]
        return number, host_cells, tuple(sorted(providers)), tuple(related)

    def _count_kinds(self, start: int) -> Counter[int]:
        return Counter(requirement.kind for requirement in self._requirements[start:])

    def _count_servable(self, requirement: GroupRequirement, option: int) -> int:
        most = 1 if self._is_separate(requirement) else len(self._requirements)
        return count_servable(requirement, self._free[option], most)

    def _is_separate(self, requirement: GroupRequirement) -> bool:
        """Return whether no equal requirement may share the provider."""
        return requirement.guest_cell is not None or (self._isolated and bool(requirement.suffix))

    def _may_fit(self, start: int) -> bool:
        demands = []
        for kind, count in self._count_kinds(start).items():
            requirement = self._kinds[kind]
            mask = requirement.mask & self._reach.get(kind, -1)
            if count > sum(
                self._count_servable(requirement, option) for option in requirement.options if mask >> option & 1
            ):
                return False
            demands.append((requirement, count, mask))
        return sums_suffice(demands, self._free)

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
