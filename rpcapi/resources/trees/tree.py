# SPDX-License-Identifier: Apache-2.0
"""Provider trees, requests and allocation candidates, with Placement's request group semantics."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.inventory import MAX_AMOUNT

Allocations = Mapping[str, Mapping[str, int]]  # provider -> resource class -> amount

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # Trait of a provider that serves all trees in its aggregates.


class ProviderInventory(NamedTuple):
    capacity: int
    used: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1

    @property
    def max_allocation(self) -> int:
        """Largest amount for one consumer, over all its request groups."""
        return min(self.capacity - self.used, self.max_unit)

    def can_allocate(self, amount: int) -> bool:
        return self.min_unit <= amount <= self.max_allocation and amount % self.step_size == 0


@dataclass(frozen=True, slots=True)
class Provider:
    """Provider of a tree, or a sharing provider. A search tries only one of several equal providers.

    A sharing provider has as ``parent`` its closest sharing ancestor, as ``root`` the root above it. Unknown ``traits``
    (None) satisfy any request. A root has its service host's ``aggregates``. ``symmetry_key`` keeps providers apart.
    """

    id: str
    parent: str | None = None
    inventories: Mapping[str, ProviderInventory] = field(default_factory=dict)
    traits: frozenset[str] | None = frozenset()
    aggregates: frozenset[str] = frozenset()
    symmetry_key: Hashable = None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class ProviderTree:
    """Providers of a tree and their sharing providers; parents before children in both."""

    providers: Sequence[Provider]
    sharing: Sequence[Provider] = ()

    @property
    def root(self) -> Provider:
        return self.providers[0]


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """Request groups of one consumer and their relations.

    For each list of suffixes in ``same_subtree``, the providers are in the subtree of one of them.
    """

    groups: Sequence[RequestGroup]
    policy: str | None = None
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    same_subtree: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class AllocationCandidate:
    allocations: Allocations
    providers: Mapping[str, tuple[str, ...]]


def find_paths(tree: ProviderTree) -> list[list[int]]:
    """Return each provider's path from its root as numbers, which count the tree's providers, then sharing ones."""
    numbers: dict[str, int] = {}
    paths: list[list[int]] = []
    for number, provider in enumerate((*tree.providers, *tree.sharing)):
        parent = numbers.get(provider.parent) if provider.parent else None
        paths.append([*(paths[parent] if parent is not None else ()), number])
        numbers[provider.id] = number
    return paths


def has_traits(
    traits: frozenset[str] | None, required: Sequence[str], any_of: Sequence[Sequence[str]], forbidden: Sequence[str]
) -> bool:
    """Return whether ``traits`` satisfy the requirements; None (unknown) does."""
    return traits is None or (
        traits.issuperset(required)
        and all(not traits.isdisjoint(alternatives) for alternatives in any_of)
        and traits.isdisjoint(forbidden)
    )


def in_aggregates(aggregates: frozenset[str], member_of: Sequence[Sequence[str]]) -> bool:
    return all(not aggregates.isdisjoint(alternatives) for alternatives in member_of)
