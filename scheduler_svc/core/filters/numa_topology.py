# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts without NUMA cells: Nova's NUMATopologyFilter. The tree search selects the cells."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "NUMATopologyFilter"
REASON = "no NUMA cells"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    if request.numa:
        yield HostPredicate(REASON, view.has_numa_cells)


FILTER = Filter(NAME, predicates, {"compute": frozenset({"numa"})}, reasons=(REASON,))
