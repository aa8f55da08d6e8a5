# SPDX-License-Identifier: Apache-2.0
"""Symmetry breaking in the tree search: of interchangeable unused providers only one is tried."""

import functools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rpcapi.resources.trees.requirements import GroupRequirement
from rpcapi.resources.trees.tree import Provider, ProviderTree, TreeRequest


class SymmetryBreaker:
    """Filter of unused providers equivalent to a tried one: a swap of their subtrees changes nothing."""

    def __init__(
        self,
        tree: ProviderTree,
        paths: Sequence[Sequence[int]],
        requirements: Sequence[GroupRequirement],
        request: TreeRequest,
        cell_keys: Mapping[int, Hashable] = MappingProxyType({}),
    ) -> None:
        """``paths``: see find_paths. ``cell_keys`` of NUMA cells replace their amounts in comparisons."""
        self._paths = paths
        self._parents = [path[-2] if len(path) > 1 else -1 for path in paths]
        self._search = (tree, requirements, request, cell_keys)
        self._uses = [0] * len(paths)

    @functools.cached_property
    def _classes(self) -> list[int]:
        return _number_equivalence_classes(*self._search, self._parents)

    def mark_used(self, number: int) -> None:
        for ancestor in self._paths[number]:
            self._uses[ancestor] += 1

    def unmark_used(self, number: int) -> None:
        for ancestor in self._paths[number]:
            self._uses[ancestor] -= 1

    def skip_equivalent(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield inequivalent providers, the first before the expensive classes exist: it mostly suffices."""
        tried_keys = set()
        latest: int | None = None
        for number in numbers:
            if latest is not None:
                tried_keys.add(self._key(latest))
                latest = None
            if not tried_keys or self._key(number) not in tried_keys:
                latest = number
                yield number

    def swap_key(self, number: int) -> tuple[int, ...]:
        """Return a key that is equal for sibling leaves that differ at most in their current use."""
        return (number,) if number in self._parents else (self._parents[number], self._classes[number])

    def _key(self, number: int) -> tuple[int, ...]:
        path = self._paths[number]
        for depth, ancestor in enumerate(path):
            if not self._uses[ancestor]:
                return (path[depth - 1] if depth else -1, *(self._classes[descendant] for descendant in path[depth:]))
        return (number,)


def _number_equivalence_classes(
    tree: ProviderTree,
    requirements: Sequence[GroupRequirement],
    request: TreeRequest,
    cell_keys: Mapping[int, Hashable],
    parents: Sequence[int],
) -> list[int]:
    totals: Counter[str] = Counter()  # free amounts above these count as equal
    for requirement in requirements:
        totals.update(dict(requirement.amounts))
    requested_traits = {name for group in request.groups for names in (group.required, *group.any_of) for name in names}
    masks = list({requirement.kind: requirement.mask for requirement in requirements}.values())
    providers = [*tree.providers, *tree.sharing]
    child_classes: list[list[int]] = [[] for _ in providers]
    classes = [0] * len(providers)
    class_numbers: dict[object, int] = {}
    for number in range(len(providers) - 1, -1, -1):  # children first
        provider = providers[number]
        is_sharing = number >= len(tree.providers)
        amounts = cell_keys[number] if number in cell_keys else _free_amounts(provider, totals)
        key = (
            tuple(mask >> number & 1 for mask in masks),
            amounts,
            provider.traits and provider.traits & requested_traits,
            provider.symmetry_key,
            number if is_sharing else None,
            tuple(sorted(child_classes[number])),
        )
        classes[number] = class_numbers.setdefault(key, len(class_numbers))
        if parents[number] >= 0:
            child_classes[parents[number]].append(classes[number])
    return classes


def _free_amounts(provider: Provider, totals: Mapping[str, int]) -> Hashable:
    return frozenset(
        (name, min(inventory.max_allocation, totals[name]))
        for name, inventory in provider.inventories.items()
        if name in totals
    )
