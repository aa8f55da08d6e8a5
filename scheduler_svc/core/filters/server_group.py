# SPDX-License-Identifier: Apache-2.0
"""Applies the request's server group policy, as far as the store reported the group's hosts.

The claim script enforces the policy without races; these filters avoid candidates that it would reject.
"""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

AFFINITY_NAME = "ServerGroupAffinityFilter"
ANTI_AFFINITY_NAME = "ServerGroupAntiAffinityFilter"
REASON = "server group policy"


def affine(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that run members of the affinity group; all hosts if it has no members yet."""
    if request.decision.group_hosts:
        yield HostPredicate(REASON, view.match_names(request.decision.group_hosts))


def anti_affine(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that run fewer members of the anti-affinity group than a host may."""
    if request.decision.excluded_hosts:
        yield HostPredicate(REASON, ~view.match_names(request.decision.excluded_hosts))


AFFINITY_FILTER = Filter(AFFINITY_NAME, affine)
ANTI_AFFINITY_FILTER = Filter(ANTI_AFFINITY_NAME, anti_affine)
