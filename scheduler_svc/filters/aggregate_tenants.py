# SPDX-License-Identifier: Apache-2.0
"""Are the host's aggregates open to the project? Nova's AggregateMultiTenancyIsolation."""

from collections.abc import Iterator, Mapping

from scheduler_svc.filters.aggregate_values import READS, values
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "AggregateMultiTenancyIsolation"
KEY = "filter_tenant_id"  # and every key that begins so: the length of one value is bounded
REASON = "aggregates of other projects"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass of which no aggregate names projects, or one of them names the request's."""
    named = view.aggregates.once(NAME, lambda: _named(view))
    if not named:
        return

    def find() -> Column:
        ours = [name for name, projects in named.items() if request.project in projects]
        return ~view.aggregates.members(named) | view.aggregates.members(ours)

    yield Sieve(REASON, view.aggregates.once((NAME, request.project), find))


def _named(view: View) -> dict[str, set[str]]:
    """Return the projects that each aggregate names, without those that name none."""
    every = {name: _projects(view.aggregates.metadata(name)) for name in view.aggregates.names}
    return {name: projects for name, projects in every.items() if projects}


def _projects(metadata: Mapping[str, str]) -> set[str]:
    return {value for key, text in metadata.items() if key.startswith(KEY) for value in values(text)}


FILTER = Filter(NAME, sieves, READS)
