# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts without enough free capacity: the rules of rpcapi.resources.inventory on columns."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View

NAME = "ResourcesFilter"
REASON = "not enough {}"
REASON_UNIT = "unit rules of {}"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that can allocate each class, possibly from different providers of the tree."""
    trees = view.trees
    for resource_class, amount in request.resources.items():
        if trees.are_flat:
            yield HostPredicate(REASON.format(resource_class), view.hosts.free(resource_class) >= amount)
        else:
            yield HostPredicate(
                REASON.format(resource_class), trees.any(ProviderColumns.has_capacity, resource_class, amount)
            )
        if trees.has_rules(resource_class):
            yield HostPredicate(
                REASON_UNIT.format(resource_class), trees.any(ProviderColumns.can_allocate, resource_class, amount)
            )


FILTER = Filter(NAME, predicates, {"compute": frozenset({"inventories", "used"})}, reasons=(REASON, REASON_UNIT))
