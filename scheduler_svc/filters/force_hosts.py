# SPDX-License-Identifier: Apache-2.0
"""Is the host one of those that the request insists on?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ForceHostsFilter"
REASON = "not a forced host"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let only hosts pass that the request names, by node or by service host; without a name, all."""
    if request.force_hosts:
        yield Sieve(REASON, view.named(request.force_hosts))


FILTER = Filter(NAME, sieves)
