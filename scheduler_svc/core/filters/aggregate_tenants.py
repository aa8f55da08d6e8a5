# SPDX-License-Identifier: Apache-2.0
"""Restricts aggregates to projects: Nova's AggregateMultiTenancyIsolation."""

from collections.abc import Iterator, Mapping

from scheduler_svc.core.matching.aggregate_values import READS, split_values
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "AggregateMultiTenancyIsolation"
KEY = "filter_tenant_id"  # and all keys with this prefix, since the length of one value is limited
REASON = "aggregates of other projects"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with no aggregate that names projects, or with one that names the requested project."""
    restricted = view.aggregates.get_or_compute(NAME, lambda: _projects_by_aggregate(view))
    if not restricted:
        return

    def compute() -> Column:
        matching = [name for name, projects in restricted.items() if request.project in projects]
        return ~view.aggregates.members(restricted) | view.aggregates.members(matching)

    yield HostPredicate(REASON, view.aggregates.get_or_compute((NAME, request.project), compute))


def _projects_by_aggregate(view: View) -> dict[str, set[str]]:
    """Return the projects that each aggregate names; aggregates that name none are omitted."""
    projects_by_name = {name: _projects(view.aggregates.metadata(name)) for name in view.aggregates.names}
    return {name: projects for name, projects in projects_by_name.items() if projects}


def _projects(metadata: Mapping[str, str]) -> set[str]:
    return {value for key, text in metadata.items() if key.startswith(KEY) for value in split_values(text)}


FILTER = Filter(NAME, predicates, READS)
