# SPDX-License-Identifier: Apache-2.0
"""Is the host in the zone that is asked for?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "AvailabilityZoneFilter"
REASON = "availability zone"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts of the zone pass; without a zone in the request, all."""
    if request.availability_zone is not None:
        yield Sieve(REASON, view.in_zone(request.availability_zone))


FILTER = Filter(
    NAME,
    sieves,
    {"compute": frozenset({"availability_zone"}), "aggregate": frozenset({"hosts", "metadata"})},
)
