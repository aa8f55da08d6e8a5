# SPDX-License-Identifier: Apache-2.0
"""Rejects the hosts that the request excludes."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "IgnoreHostsFilter"
REASON = "ignored host"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that are not in ``ignore_hosts``, by node or service host name."""
    if request.ignore_hosts:
        yield HostPredicate(REASON, ~view.match_names(request.ignore_hosts))


FILTER = Filter(NAME, predicates)
