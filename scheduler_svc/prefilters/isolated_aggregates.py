# SPDX-License-Identifier: Apache-2.0
"""Keeps requests off aggregates that are for who asks for a trait, unless it does; Nova's isolate_aggregates."""

from dataclasses import replace

from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen

NAME = "isolate_aggregates"
PREFIX = "trait:"
REQUIRED = "required"


def rewrite(request: Request, aggregates: AggregatesSeen) -> Request:
    """Forbid the aggregates of which metadata requires a trait that no group of the request does."""
    closed = aggregates.once(NAME, lambda: _closed(aggregates))
    if not closed:
        return request
    own = {*request.required_traits, *request.root_required}  # of a host that itself gives nothing they are the root's
    asked = own.union(*(group.required for group in request.groups))
    forbidden = tuple(name for name, traits in closed.items() if not traits <= asked)
    return replace(request, forbidden_aggregates=(*request.forbidden_aggregates, *forbidden)) if forbidden else request


def _closed(aggregates: AggregatesSeen) -> dict[str, frozenset[str]]:
    """Return the traits that each aggregate wants to be asked for, of those that want any."""
    every = {
        name: frozenset(
            key.removeprefix(PREFIX)
            for key, value in aggregates.metadata(name).items()
            if key.startswith(PREFIX) and value == REQUIRED
        )
        for name in aggregates.names
    }
    return {name: traits for name, traits in every.items() if traits}


PREFILTER = Prefilter(NAME, rewrite, {"aggregate": frozenset({"hosts", "metadata"})})
