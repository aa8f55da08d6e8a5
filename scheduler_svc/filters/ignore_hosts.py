# SPDX-License-Identifier: Apache-2.0
"""Is the host one that the request must not land on?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "IgnoreHostsFilter"
REASON = "ignored host"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that the request does not name to be ignored, by node or by service host."""
    if request.ignore_hosts:
        yield Sieve(REASON, ~view.named(request.ignore_hosts))


FILTER = Filter(NAME, sieves)
