# SPDX-License-Identifier: Apache-2.0
"""Filter by required and forbidden traits."""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View

NAME = "TraitsFilter"
REASON_REQUIRED = "required traits"
REASON_FORBIDDEN = "forbidden traits"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with all required traits, one trait of each choice, and no forbidden trait.

    For a nested tree this is necessary but not sufficient: each required trait is somewhere in the tree, and some
    provider has no forbidden trait. ``root_required`` and ``root_forbidden`` apply to the root provider.
    """
    if request.root_required:
        yield HostPredicate(REASON_REQUIRED, view.hosts.has_all(request.root_required))
    if request.root_forbidden:
        yield HostPredicate(REASON_FORBIDDEN, ~view.hosts.has_any(request.root_forbidden))
    trees = view.trees
    if request.required_traits:
        if trees.are_flat:
            yield HostPredicate(REASON_REQUIRED, view.hosts.has_all(request.required_traits))
        else:
            columns = [trees.any(ProviderColumns.has_all, (trait,)) for trait in request.required_traits]
            yield HostPredicate(REASON_REQUIRED, np.logical_and.reduce(columns))
    for choice in request.any_traits:
        yield HostPredicate(REASON_REQUIRED, trees.any(ProviderColumns.has_any, choice))
    if request.forbidden_traits:
        yield HostPredicate(REASON_FORBIDDEN, trees.any(ProviderColumns.has_none, request.forbidden_traits))


FILTER = Filter(NAME, predicates, {"compute": frozenset({"traits"})}, reasons=(REASON_REQUIRED, REASON_FORBIDDEN))
