# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts outside the requested availability zone."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import ZONE
from scheduler_svc.core.table.view import View

NAME = "AvailabilityZoneFilter"
REASON = "availability zone"
REASON_UNKNOWN = "unknown availability zone"  # neither a host nor an aggregate has this zone


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    zone = request.availability_zone
    if zone is not None:
        inside = view.in_zone(zone)
        is_known = inside.any() or zone in view.aggregates.metadata_values(ZONE).values()
        yield HostPredicate(REASON if is_known else REASON_UNKNOWN, inside)


FILTER = Filter(
    NAME,
    predicates,
    {"compute": frozenset({"availability_zone"}), "aggregate": frozenset({"hosts", "metadata"})},
    reasons=(REASON, REASON_UNKNOWN),
)
