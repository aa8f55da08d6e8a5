# SPDX-License-Identifier: Apache-2.0
"""Is the host, or somebody in its tree, in the aggregates and in the tree that are asked for?"""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View

NAME = "MembershipFilter"
REASON_AGGREGATE = "not in the aggregates asked for"
REASON_FORBIDDEN = "in a forbidden aggregate"
REASON_TREE = "not the tree asked for"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass by ``member_of``, ``forbidden_aggregates`` and ``in_tree`` of the group without a suffix.

    A host's aggregates span its tree; one that is not in them passes for a member below it, or one that shares.
    """
    if request.in_tree is not None:
        yield Sieve(REASON_TREE, view.tree_named(request.in_tree))
    if request.member_of:

        def inside(each: Providers) -> Column:
            return np.logical_and.reduce([each.members(names) for names in request.member_of])

        yield Sieve(REASON_AGGREGATE, view.trees.any(inside))
    if request.forbidden_aggregates:
        yield Sieve(REASON_FORBIDDEN, ~view.aggregates.members(request.forbidden_aggregates))


FILTER = Filter(NAME, sieves, {"aggregate": frozenset({"hosts"})})
