# SPDX-License-Identifier: Apache-2.0
"""Prefilter that excludes aggregates reserved for requests with certain traits: Nova's isolate_aggregates."""

from dataclasses import replace

from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS, AggregateView

NAME = "isolate_aggregates"
PREFIX = "trait:"
REQUIRED = "required"


def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Forbid the aggregates whose metadata requires a trait that the request does not require."""
    isolated = aggregates.get_or_compute(NAME, lambda: _isolated_aggregates(aggregates))
    if not isolated:
        return request
    own = {*request.required_traits, *request.root_required}  # traits required of the root provider
    requested = own.union(*(group.required for group in request.groups))
    forbidden = tuple(name for name, traits in isolated.items() if not traits <= requested)
    return replace(request, forbidden_aggregates=(*request.forbidden_aggregates, *forbidden)) if forbidden else request


def _isolated_aggregates(aggregates: AggregateView) -> dict[str, frozenset[str]]:
    traits_by_name = {
        name: frozenset(
            key.removeprefix(PREFIX)
            for key, value in aggregates.metadata(name).items()
            if key.startswith(PREFIX) and value == REQUIRED
        )
        for name in aggregates.names
    }
    return {name: traits for name, traits in traits_by_name.items() if traits}


PREFILTER = Prefilter(NAME, rewrite, READS)
