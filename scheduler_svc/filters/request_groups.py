# SPDX-License-Identifier: Apache-2.0
"""Are there enough providers in the host's tree for the request's groups, each by itself?

Whether all of them fit together is found in the trees of the best hosts afterwards, exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rpcapi.model.groups import ISOLATE, RequestGroup
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column, IntColumn
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View

NAME = "RequestGroupsFilter"
REASON = "no provider for group {}"
REASON_USABLE = "no usable provider of {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass where each group alone, as often as it is asked for, has providers that could serve it."""
    if not view.trees.are_flat:
        yield from _usable(view, request)
    isolated = request.groups_policy == ISOLATE
    alike: dict[str, list[RequestGroup]] = {}
    for group in request.groups:
        alike.setdefault(repr(replace(group, suffix="")), []).append(group)
    for group, *others in alike.values():
        yield Sieve(REASON.format(group.suffix), _serves(view, group, 1 + len(others), isolated))


def _usable(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass where each class of the group without a suffix is given by somebody who may be used for it."""
    if not request.forbidden_traits:
        return
    for resource_class, amount in request.resources.items():
        usable = view.trees.any(_gives_without, resource_class, amount, request.forbidden_traits)
        yield Sieve(REASON_USABLE.format(resource_class), usable)


def _gives_without(each: Providers, resource_class: str, amount: int, traits: Sequence[str]) -> Column:
    return each.gives(resource_class, amount) & each.lacking(traits)


def _serves(view: View, group: RequestGroup, times: int, isolated: bool) -> Column:
    """Return in which trees, and who shares with them, there is room for ``times`` such groups."""

    def suits(each: Providers) -> Column:
        column = each.having_all(group.required) & ~each.having_any(group.forbidden)
        for choice in group.any_of:
            column &= each.having_any(choice)
        for names in group.member_of:
            column &= each.members(names)
        if group.forbidden_aggregates:
            column &= ~each.members(group.forbidden_aggregates)
        return column

    def count(each: Providers) -> IntColumn:
        units = [each.units(name, amount) for name, amount in group.resources.items()]
        most = np.minimum.reduce(units) if units else np.full(each.size, times, np.int64)
        return np.where(suits(each), np.minimum(most, 1) if isolated else most, 0)

    column = view.trees.sum(count) >= times
    if group.in_tree is not None:
        column &= view.tree_named(group.in_tree, sharing=True)
    return column


FILTER = Filter(
    NAME, sieves, {"compute": frozenset({"inventories", "used", "traits"}), "aggregate": frozenset({"hosts"})}
)
