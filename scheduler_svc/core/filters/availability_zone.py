# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts outside the requested availability zone."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, Sieve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "AvailabilityZoneFilter"
REASON = "availability zone"


def sieves(view: View, request: SchedulingRequest) -> Iterator[Sieve]:
    """Accept hosts in the requested zone; all hosts if the request has none."""
    if request.availability_zone is not None:
        yield Sieve(REASON, view.in_zone(request.availability_zone))


FILTER = Filter(
    NAME,
    sieves,
    {"compute": frozenset({"availability_zone"}), "aggregate": frozenset({"hosts", "metadata"})},
)
