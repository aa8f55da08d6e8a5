# SPDX-License-Identifier: Apache-2.0
"""Provider trees, what is asked of one, and what was found in it. Placement's semantics of request groups."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rpcapi.model.groups import RequestGroup
from rpcapi.model.inventory import MAX_AMOUNT, Inventory

Allocations = Mapping[str, Mapping[str, int]]  # provider -> resource class -> amount

SHARES = "MISC_SHARES_VIA_AGGREGATE"  # the trait of a provider that serves trees of its aggregates


class Stock(NamedTuple):
    """What a provider has of one resource class, and what of it is in use."""

    capacity: int
    used: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1

    @classmethod
    def of(cls, inventory: Inventory, used: int = 0) -> "Stock":
        """Return the stock that an inventory makes."""
        return cls(inventory.capacity, used, inventory.min_unit, inventory.max_unit, inventory.step_size)

    @property
    def room(self) -> int:
        """Return how much one consumer may be given at most, in sum over all its groups."""
        return min(self.capacity - self.used, self.max_unit)

    def gives(self, amount: int) -> bool:
        """Tell whether ``amount`` fits, and is a size that is handed out."""
        return self.min_unit <= amount <= self.room and amount % self.step_size == 0


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of a tree, or one that shares with it; ``parent`` None: a root.

    ``aggregates`` are those that name the provider itself, or, of a root, its service host. ``traits`` None: they are
    not known, and taken to be what is asked for. ``mark`` is whatever else tells it from its likes: providers that
    differ in nothing, marks included, stand for each other in a search.
    """

    id: str
    parent: str | None = None
    stocks: Mapping[str, Stock] = field(default_factory=dict)
    traits: frozenset[str] | None = frozenset()
    aggregates: frozenset[str] = frozenset()
    mark: Hashable = None


@dataclass(frozen=True, slots=True)
class Tree:
    """The providers of a tree, its root first and parents before children, and the roots that share with it."""

    providers: Sequence[Provider]
    sharing: Sequence[Provider] = ()

    @property
    def root(self) -> Provider:
        """Return the root."""
        return self.providers[0]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one consumer asks of a tree: its request groups and how they are related.

    ``policy`` is groups.NONE, groups.ISOLATE or None; ``same_subtree`` has suffixes of groups of which one provider
    must be an ancestor of all others', or the same.
    """

    groups: Sequence[RequestGroup]
    policy: str | None = None
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    same_subtree: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A way to serve all groups: ``allocations`` in sum, and which providers serve the group of each suffix."""

    allocations: Allocations
    providers: Mapping[str, tuple[str, ...]]


def has_traits(
    traits: frozenset[str] | None, required: Sequence[str], any_of: Sequence[Sequence[str]], forbidden: Sequence[str]
) -> bool:
    """Tell whether these traits are what is asked for; None: they are taken to be."""
    return traits is None or (
        traits.issuperset(required)
        and all(not traits.isdisjoint(each) for each in any_of)
        and traits.isdisjoint(forbidden)
    )


def in_aggregates(aggregates: frozenset[str], member_of: Sequence[Sequence[str]]) -> bool:
    """Tell whether one aggregate of each element of ``member_of`` is among ``aggregates``."""
    return all(not aggregates.isdisjoint(each) for each in member_of)
