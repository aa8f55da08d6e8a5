# SPDX-License-Identifier: Apache-2.0
"""Filter by each request group on its own; the tree search checks whether a host can serve all together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rpcapi.resources.groups import ISOLATE, RequestGroup
from scheduler_svc.core.matching.group_columns import can_serve
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View

NAME = "RequestGroupsFilter"
REASON = "no provider for group {}"
REASON_USABLE = "no usable provider of {}"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with enough providers for each set of equal groups, checked independently of other groups."""
    if request.forbidden_traits and not view.trees.are_flat:
        # Each class of the unsuffixed group needs a provider without forbidden traits.
        for resource_class, amount in request.resources.items():
            usable = view.trees.any(_can_allocate_without, resource_class, amount, request.forbidden_traits)
            yield HostPredicate(REASON_USABLE.format(resource_class), usable)
    isolated = request.groups_policy == ISOLATE
    groups_by_content: dict[str, list[RequestGroup]] = {}
    for group in request.groups:
        groups_by_content.setdefault(repr(replace(group, suffix="")), []).append(group)
    for group, *others in groups_by_content.values():
        yield HostPredicate(
            REASON.format(group.suffix), can_serve(view.trees, group, 1 + len(others), isolated=isolated)
        )


def _can_allocate_without(
    providers: ProviderColumns, resource_class: str, amount: int, traits: Sequence[str]
) -> Column:
    return providers.can_allocate(resource_class, amount) & providers.has_none(traits)


FILTER = Filter(
    NAME,
    predicates,
    {"compute": frozenset({"inventories", "used", "traits"}), "aggregate": frozenset({"hosts"})},
    reasons=(REASON, REASON_USABLE),
)
