# SPDX-License-Identifier: Apache-2.0
"""Tests of providers and host trees for a request group, as columns."""

from collections.abc import Sequence

import numpy as np

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.table.columns import Column, IntColumn
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.trees import TreeColumns


def has_properties(providers: ProviderColumns, group: RequestGroup) -> Column:
    """Return a mask of the providers whose traits and aggregates the group accepts."""
    column = providers.has_all(group.required) & ~providers.has_any(group.forbidden)
    for choice in group.any_of:
        column &= providers.has_any(choice)
    for names in group.member_of:
        column &= providers.members(names)
    if group.forbidden_aggregates:
        column &= ~providers.members(group.forbidden_aggregates)
    return column


def can_serve_alone(providers: ProviderColumns, group: RequestGroup) -> Column:
    """Return a mask of the providers that pass ``has_properties`` and can allocate all amounts of the group."""
    column = has_properties(providers, group)
    for resource_class, amount in group.resources.items():
        column &= providers.can_allocate(resource_class, amount)
    return column


def can_serve(trees: TreeColumns, group: RequestGroup, times: int, *, isolated: bool) -> Column:
    """Return a mask of the hosts that can serve a suffixed group ``times`` times.

    With ``isolated``, each time needs a different provider.
    """

    def count(providers: ProviderColumns) -> IntColumn:
        units = [providers.units(name, amount) for name, amount in group.resources.items()]
        limit = np.minimum.reduce(units) if units else np.full(providers.size, times, np.int64)
        return np.where(has_properties(providers, group), np.minimum(limit, 1) if isolated else limit, 0)

    column = trees.sum(count) >= times
    if group.in_tree is not None:
        column &= trees.containing(group.in_tree, sharing=True)
    return column


def could_use(providers: ProviderColumns, groups: Sequence[RequestGroup]) -> Column:
    """Return a mask of the providers that could serve a group, or part of the unsuffixed group."""
    column = np.zeros(providers.size, np.bool_)
    for group in groups:
        if group.suffix:
            column |= can_serve_alone(providers, group)
        elif group.resources:
            fits = [providers.can_allocate(name, amount) for name, amount in group.resources.items()]
            column |= np.logical_or.reduce(fits) & providers.has_none(group.forbidden)
    return column


def could_serve_unsuffixed(trees: TreeColumns, group: RequestGroup) -> Column:
    """Return a mask of the hosts that pass each condition of an unsuffixed group, perhaps by several providers."""
    hosts = trees.hosts
    column = np.ones(hosts.size, np.bool_)

    def can_allocate(providers: ProviderColumns, resource_class: str, amount: int) -> Column:
        return providers.can_allocate(resource_class, amount) & providers.has_none(group.forbidden)

    def has_trait(providers: ProviderColumns, names: tuple[str, ...]) -> Column:
        return providers.has_any(names) & providers.has_none(group.forbidden)

    for resource_class, amount in group.resources.items():
        column &= trees.any(can_allocate, resource_class, amount)
    for names in (*((name,) for name in group.required), *group.any_of):
        column &= trees.any(has_trait, names)
    for names in group.member_of:
        column &= trees.any(ProviderColumns.members, names)
    if group.forbidden_aggregates:
        column &= ~hosts.members(group.forbidden_aggregates)  # the root's aggregates exclude the whole tree
    if group.in_tree is not None:
        column &= trees.containing(group.in_tree)
    return column
