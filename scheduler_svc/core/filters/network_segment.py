# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts without the physical networks and segments of the requested ports."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "NetworkSegmentFilter"
REASON_PHYSNET = "not on physical network {}"
REASON_SEGMENT = "not on segment {}"
NAMESPACE = "network"
_TESTS = (("physnet", "physnets", REASON_PHYSNET), ("segment", "segments", REASON_SEGMENT))


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    for port_key, key, reason in _TESTS:
        for name in dict.fromkeys(port[port_key] for port in request.ports if port.get(port_key)):
            yield HostPredicate(reason.format(name), view.state_contains(NAMESPACE, key, name))


FILTER = Filter(
    NAME, predicates, {NAMESPACE: frozenset({"physnets", "segments"})}, reasons=(REASON_PHYSNET, REASON_SEGMENT)
)
