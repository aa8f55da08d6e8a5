# SPDX-License-Identifier: Apache-2.0
"""Filter by the requested aggregates and tree."""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View

NAME = "MembershipFilter"
REASON_AGGREGATE = "not in the requested aggregates"
REASON_FORBIDDEN = "in a forbidden aggregate"
REASON_TREE = "not the requested tree"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Apply the unsuffixed group's aggregates and tree. Any provider of a tree may satisfy ``member_of``."""
    if request.in_tree is not None:
        yield HostPredicate(REASON_TREE, view.trees.containing(request.in_tree))
    if request.member_of:

        def inside(providers: ProviderColumns) -> Column:
            column: Column = np.logical_and.reduce([providers.members(names) for names in request.member_of])
            return column

        yield HostPredicate(REASON_AGGREGATE, view.trees.any(inside))
    if request.forbidden_aggregates:
        yield HostPredicate(REASON_FORBIDDEN, ~view.aggregates.members(request.forbidden_aggregates))


FILTER = Filter(
    NAME, predicates, {"aggregate": frozenset({"hosts"})}, reasons=(REASON_AGGREGATE, REASON_FORBIDDEN, REASON_TREE)
)
