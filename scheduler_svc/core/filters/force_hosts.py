# SPDX-License-Identifier: Apache-2.0
"""Restricts the hosts to those that the request forces."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ForceHostsFilter"
REASON = "not a forced host"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts in ``force_hosts``, by node or service host name; all hosts if it is empty."""
    if request.force_hosts:
        yield HostPredicate(REASON, view.match_names(request.force_hosts))


FILTER = Filter(NAME, predicates)
