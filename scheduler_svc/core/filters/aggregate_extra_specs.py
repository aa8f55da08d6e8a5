# SPDX-License-Identifier: Apache-2.0
"""Matches flavor extra specs with aggregate metadata: Nova's AggregateInstanceExtraSpecsFilter."""

from collections.abc import Iterator
from functools import partial

from scheduler_svc.core.matching.aggregate_values import READS, members_with_value
from scheduler_svc.core.matching.extra_specs import matches
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "AggregateInstanceExtraSpecsFilter"
SCOPE = "aggregate_instance_extra_specs"
REASON = "no aggregate with extra spec {}"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that have a matching aggregate for each extra spec of this scope or without a scope."""
    for spec, requirement in request.extra_specs.items():
        scope, colon, rest = spec.partition(":")
        if colon and scope != SCOPE:
            continue
        key = rest if colon else spec
        yield HostPredicate(
            REASON.format(key),
            view.aggregates.get_or_compute(
                (NAME, key, requirement), partial(_members_matching, view, key, requirement)
            ),
        )


def _members_matching(view: View, key: str, requirement: str) -> Column:
    return members_with_value(view, view.aggregates.metadata_values(key), lambda value: matches(value, requirement))


FILTER = Filter(NAME, predicates, READS)
