# SPDX-License-Identifier: Apache-2.0
"""Conditions that a list of resource providers must fulfil."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from scheduler_svc.placement.providers import Provider


@dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Conditions that must all hold.

    ``member_of`` and ``required`` are sets of aggregates and traits of which a provider has at least one each.
    ``resources`` must fit into the provider's own inventories beside what is used. ``root`` is a tree's, by UUID.
    """

    name: str | None = None
    root: str | None = None
    member_of: Sequence[Set[str]] = ()
    forbidden_aggregates: Set[str] = frozenset()
    required: Sequence[Set[str]] = ()
    forbidden_traits: Set[str] = frozenset()
    resources: Mapping[str, int] = field(default_factory=dict)

    def match(self, provider: Provider) -> bool:
        """Return whether a provider fulfils all conditions."""
        aggregates, traits = set(provider.aggregates), set(provider.traits)
        return (
            (self.name is None or provider.name == self.name)
            and (self.root is None or provider.root == self.root)
            and all(aggregates & alternatives for alternatives in self.member_of)
            and not aggregates & self.forbidden_aggregates
            and all(traits & alternatives for alternatives in self.required)
            and not traits & self.forbidden_traits
            and all(_fits(provider, name, amount) for name, amount in self.resources.items())
        )


def _fits(provider: Provider, resource_class: str, amount: int) -> bool:
    inventory = provider.inventories.get(resource_class)
    return (
        inventory is not None
        and amount <= inventory["capacity"] - provider.used.get(resource_class, 0)
        and inventory["min_unit"] <= amount <= inventory["max_unit"]
        and amount % inventory["step_size"] == 0
    )
