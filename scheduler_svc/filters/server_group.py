# SPDX-License-Identifier: Apache-2.0
"""Does the host suit the request's server group, by what the store told of it?

The policy itself is the claim script's, so that it cannot be raced; these keep decisions from offering it hosts that
it must refuse.
"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

AFFINITY_NAME = "ServerGroupAffinityFilter"
ANTI_AFFINITY_NAME = "ServerGroupAntiAffinityFilter"
REASON = "server group policy"


def affine(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that hold the affinity group; all where it is nowhere yet."""
    if request.beside:
        yield Sieve(REASON, view.named(request.beside))


def anti_affine(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that hold less of the anti-affinity group than one may."""
    if request.ruled_out:
        yield Sieve(REASON, ~view.named(request.ruled_out))


AFFINITY_FILTER = Filter(AFFINITY_NAME, affine)
ANTI_AFFINITY_FILTER = Filter(ANTI_AFFINITY_NAME, anti_affine)
