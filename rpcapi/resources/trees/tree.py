# SPDX-License-Identifier: Apache-2.0
"""Provider trees, requests to them and allocation candidates, with Placement's semantics of request groups."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.inventory import MAX_AMOUNT

Allocations = Mapping[str, Mapping[str, int]]  # provider -> resource class -> amount

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"  # the trait of a provider that shares with all trees of its aggregates


class ProviderInventory(NamedTuple):
    """Inventory of one resource class of a provider, with its use."""

    capacity: int
    used: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1

    @property
    def max_allocation(self) -> int:
        """Return the largest amount that one consumer can get, summed over its request groups."""
        return min(self.capacity - self.used, self.max_unit)

    def can_allocate(self, amount: int) -> bool:
        """Return whether ``amount`` fits and obeys min_unit and step_size."""
        return self.min_unit <= amount <= self.max_allocation and amount % self.step_size == 0


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of a tree, or a sharing provider; ``parent`` is None for a root.

    ``aggregates`` are those of the provider itself or, for a root, of its service host. ``traits`` None: they are
    unknown and assumed to satisfy the request. Providers that are equal in everything, including ``symmetry_key``, are
    interchangeable in a search, and only one of them is tried. Of a sharing provider that is below a root, ``root``
    is that root and ``parent`` the closest provider above it that shares too.
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
    """The providers of a tree, the root first, and the sharing providers; parents before children in both."""

    providers: Sequence[Provider]
    sharing: Sequence[Provider] = ()

    @property
    def root(self) -> Provider:
        """Return the root provider."""
        return self.providers[0]


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """The request groups of one consumer and their relations.

    ``policy`` is groups.NONE, groups.ISOLATE or None; each element of ``same_subtree`` has the suffixes of
    groups of which one provider must be equal to or an ancestor of the providers of all others.
    """

    groups: Sequence[RequestGroup]
    policy: str | None = None
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    same_subtree: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class AllocationCandidate:
    """One way to serve a request: the total ``allocations``, and the providers of each group by its suffix."""

    allocations: Allocations
    providers: Mapping[str, tuple[str, ...]]


def has_traits(
    traits: frozenset[str] | None, required: Sequence[str], any_of: Sequence[Sequence[str]], forbidden: Sequence[str]
) -> bool:
    """Return whether ``traits`` satisfy the requirements; None (unknown) is assumed to."""
    return traits is None or (
        traits.issuperset(required)
        and all(not traits.isdisjoint(alternatives) for alternatives in any_of)
        and traits.isdisjoint(forbidden)
    )


def in_aggregates(aggregates: frozenset[str], member_of: Sequence[Sequence[str]]) -> bool:
    """Return whether ``aggregates`` has at least one aggregate of each element of ``member_of``."""
    return all(not aggregates.isdisjoint(alternatives) for alternatives in member_of)
