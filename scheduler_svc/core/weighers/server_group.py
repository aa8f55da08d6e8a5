# SPDX-License-Identifier: Apache-2.0
"""Weighers of the members of the request's server group, for the soft policies."""

import numpy as np

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def _build(name: str, policy: GroupPolicy, sign: int) -> Weigher:
    def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
        if not request.decision.members or not _has_policy(request, policy):
            return None
        return sign * count_members(view, request)

    def step(request: SchedulingRequest) -> float:
        return float(sign) if _has_policy(request, policy) else 0.0

    return Weigher(name, raw, step)


def _has_policy(request: SchedulingRequest, policy: GroupPolicy) -> bool:
    return request.group is not None and request.group.policy == policy


def count_members(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the number of the group's members on each host."""
    counts = np.zeros(view.size, np.float64)
    for number in range(len(view.log_positions)):
        for name, count in request.decision.members.items():
            row = view.row(name, number)
            if row is not None:
                counts[row] = count
    return counts


SOFT_AFFINITY = _build("ServerGroupSoftAffinityWeigher", GroupPolicy.SOFT_AFFINITY, 1)
SOFT_ANTI_AFFINITY = _build("ServerGroupSoftAntiAffinityWeigher", GroupPolicy.SOFT_ANTI_AFFINITY, -1)
