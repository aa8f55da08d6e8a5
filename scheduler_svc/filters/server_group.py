# SPDX-License-Identifier: Apache-2.0
"""Does the host suit the request's server group, by what the store told of it?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ServerGroupFilter"
REASON = "server group policy"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that hold the affinity group, or that the anti-affinity group has not used up.

    The policy itself is the claim script's, so that it cannot be raced; this keeps decisions from offering it hosts
    that it must refuse.
    """
    if request.beside:
        yield Sieve(REASON, view.named(request.beside))
    if request.ruled_out:
        yield Sieve(REASON, ~view.named(request.ruled_out))


FILTER = Filter(NAME, sieves)
