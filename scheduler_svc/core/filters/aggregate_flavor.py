# SPDX-License-Identifier: Apache-2.0
"""Restricts aggregates to flavors: Nova's AggregateTypeAffinityFilter."""

from collections.abc import Iterator

from scheduler_svc.core.matching.aggregate_values import READS, members_with_value
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "AggregateTypeAffinityFilter"
KEY = "instance_type"
REASON = "aggregates of other flavors"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with no aggregate that names flavors, or with one that names the requested flavor."""
    flavors = view.aggregates.metadata_values(KEY)
    if not flavors:
        return

    def compute() -> Column:
        return ~view.aggregates.members(flavors) | members_with_value(
            view, flavors, lambda flavor: flavor == request.flavor
        )

    yield HostPredicate(REASON, view.aggregates.get_or_compute((NAME, request.flavor), compute))


FILTER = Filter(NAME, predicates, READS)
