# SPDX-License-Identifier: Apache-2.0
"""Do the host's aggregates offer what the flavor asks of them? Nova's AggregateInstanceExtraSpecsFilter."""

from collections.abc import Iterator
from functools import partial

from scheduler_svc.filters.aggregate_values import READS, saying
from scheduler_svc.filters.extra_specs import matches
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "AggregateInstanceExtraSpecsFilter"
SCOPE = "aggregate_instance_extra_specs"
REASON = "no aggregate with extra spec {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that have, for each extra spec of the scope or of none, an aggregate which says what is wanted."""
    for spec, wanted in request.extra_specs.items():
        scope, colon, rest = spec.partition(":")
        if colon and scope != SCOPE:
            continue
        key = rest if colon else spec
        yield Sieve(
            REASON.format(key), view.aggregates.once((NAME, key, wanted), partial(_offering, view, key, wanted))
        )


def _offering(view: View, key: str, wanted: str) -> Column:
    return saying(view, view.aggregates.having(key), lambda value: matches(value, wanted))


FILTER = Filter(NAME, sieves, READS)
