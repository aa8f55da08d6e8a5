# SPDX-License-Identifier: Apache-2.0
"""Symmetry breaking in the tree search: of interchangeable unused providers only one is tried."""

import functools
from collections.abc import Iterable, Iterator, Sequence

from rpcapi.resources.trees.requirements import GroupRequirement
from rpcapi.resources.trees.tree import ProviderTree, TreeRequest


class SymmetryBreaker:
    """Filter of unused providers equivalent to one already tried: a swap of their subtrees changes nothing."""

    def __init__(self, tree: ProviderTree, requirements: Sequence[GroupRequirement], request: TreeRequest) -> None:
        providers = (*tree.providers, *tree.sharing)
        numbers = {provider.id: number for number, provider in enumerate(providers)}
        self._parents = [numbers.get(provider.parent or "", -1) for provider in providers]
        self._search = (tree, requirements, request)
        self._uses = [0] * len(self._parents)
        self._paths: list[list[int]] = []  # providers from the root down to each provider
        self.ancestors: list[int] = []  # bit mask per provider, including its own bit
        for number, parent in enumerate(self._parents):
            above = self._paths[parent] if parent >= 0 else []
            self._paths.append([*above, number])
            self.ancestors.append(sum(1 << ancestor for ancestor in self._paths[-1]))

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
        """Yield the providers that are not equivalent to an earlier one at the time of each step."""
        tried_keys = set()
        for number in list(numbers):
            key = self._key(number)
            if key not in tried_keys:
                tried_keys.add(key)
                yield number

    def _key(self, number: int) -> tuple[int, ...]:
        path = self._paths[number]
        for depth, ancestor in enumerate(path):
            if not self._uses[ancestor]:
                return (path[depth - 1] if depth else -1, *(self._classes[descendant] for descendant in path[depth:]))
        return (number,)


def _number_equivalence_classes(
    tree: ProviderTree, requirements: Sequence[GroupRequirement], request: TreeRequest, parents: Sequence[int]
) -> list[int]:
    requested_classes = {name for requirement in requirements for name, _ in requirement.amounts}
    requested_traits = {name for group in request.groups for names in (group.required, *group.any_of) for name in names}
    masks = [requirement.mask for requirement in requirements]
    providers = [*tree.providers, *tree.sharing]
    child_classes: list[list[int]] = [[] for _ in providers]
    classes = [0] * len(providers)
    class_numbers: dict[object, int] = {}
    for number in range(len(providers) - 1, -1, -1):  # children first
        provider = providers[number]
        is_sharing = number >= len(tree.providers)
        key = (
            tuple(mask >> number & 1 for mask in masks),
            frozenset(
                (name, inventory.max_allocation)
                for name, inventory in provider.inventories.items()
                if name in requested_classes
            ),
            provider.traits and provider.traits & requested_traits,
            provider.symmetry_key,
            number if is_sharing else None,
            tuple(sorted(child_classes[number])),
        )
        classes[number] = class_numbers.setdefault(key, len(class_numbers))
        if parents[number] >= 0:
            child_classes[parents[number]].append(classes[number])
    return classes
