# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts outside the requested availability zone."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "AvailabilityZoneFilter"
REASON = "availability zone"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts in the requested zone; all hosts if the request has none."""
    if request.availability_zone is not None:
        yield HostPredicate(REASON, view.in_zone(request.availability_zone))


FILTER = Filter(
    NAME,
    predicates,
    {"compute": frozenset({"availability_zone"}), "aggregate": frozenset({"hosts", "metadata"})},
)
