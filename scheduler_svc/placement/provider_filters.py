# SPDX-License-Identifier: Apache-2.0
"""Conditions that a list of resource providers must fulfil."""

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.matching.group_columns import can_serve_alone
from scheduler_svc.core.table.providers import PartitionProviders, ProviderMask


@dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Conditions that must all hold.

    ``member_of`` and ``required`` are sets of aggregates and traits of which a provider has at least one each.
    ``resources`` must fit into the provider's own inventories beside what is used. ``tree`` is the id of any provider
    of a tree, ``provider`` that of the only one that may be listed.
    """

    name: str | None = None
    provider: str | None = None
    tree: str | None = None
    member_of: Sequence[Set[str]] = ()
    forbidden_aggregates: Set[str] = frozenset()
    required: Sequence[Set[str]] = ()
    forbidden_traits: Set[str] = frozenset()
    resources: Mapping[str, int] = field(default_factory=dict)

    def select(self, providers: PartitionProviders) -> ProviderMask:
        """Return the mask of the providers that fulfil all conditions."""
        group = RequestGroup(
            resources=self.resources,
            any_of=tuple(map(tuple, self.required)),
            forbidden=tuple(self.forbidden_traits),
            member_of=tuple(map(tuple, self.member_of)),
            forbidden_aggregates=tuple(self.forbidden_aggregates),
        )
        mask = providers.present & providers.matching(functools.partial(can_serve_alone, group=group))
        if self.name is not None:
            mask &= providers.named(self.name)
        if self.provider is not None:
            mask &= providers.with_id(self.provider)
        if self.tree is not None:
            mask &= providers.in_tree(self.tree)
        return mask
