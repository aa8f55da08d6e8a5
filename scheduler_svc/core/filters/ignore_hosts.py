# SPDX-License-Identifier: Apache-2.0
"""Rejects the hosts that the request excludes."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, Sieve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "IgnoreHostsFilter"
REASON = "ignored host"


def sieves(view: View, request: SchedulingRequest) -> Iterator[Sieve]:
    """Accept hosts that are not in ``ignore_hosts``, by node or service host name."""
    if request.ignore_hosts:
        yield Sieve(REASON, ~view.match_names(request.ignore_hosts))


FILTER = Filter(NAME, sieves)
