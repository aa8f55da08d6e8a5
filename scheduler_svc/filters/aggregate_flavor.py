# SPDX-License-Identifier: Apache-2.0
"""Are the host's aggregates for servers of this flavor? Nova's AggregateTypeAffinityFilter."""

from collections.abc import Iterator

from scheduler_svc.filters.aggregate_values import READS, saying
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "AggregateTypeAffinityFilter"
KEY = "instance_type"
REASON = "aggregates of other flavors"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass of which no aggregate names flavors, or one of them names the request's."""
    told = view.aggregates.having(KEY)
    if not told:
        return

    def find() -> Column:
        return ~view.aggregates.members(told) | saying(view, told, lambda flavor: flavor == request.flavor)

    yield Sieve(REASON, view.aggregates.once((NAME, request.flavor), find))


FILTER = Filter(NAME, sieves, READS)
