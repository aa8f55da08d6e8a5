# SPDX-License-Identifier: Apache-2.0
"""Hosts by how many of the request's server group they hold: what the soft policies wish for."""

import numpy as np

from rpcapi.model.claims import GroupPolicy
from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def _weigher(name: str, policy: GroupPolicy, option: str, sign: int) -> Weigher:
    """Return the weigher of one policy; ``sign`` is 1 where members draw each other, -1 where they keep apart."""

    def raw(view: View, request: Request) -> FloatColumn | None:
        if not request.members or not _is(request, policy):
            return None
        return sign * _held(view, request)

    def step(request: Request) -> float:
        return float(sign) if _is(request, policy) else 0.0

    return Weigher(name, raw, step, option=option)


def _is(request: Request, policy: GroupPolicy) -> bool:
    return request.group is not None and request.group.policy == policy


def _held(view: View, request: Request) -> FloatColumn:
    """Return how many of the group each row holds."""
    held = np.zeros(view.size, np.float64)
    for number in range(len(view.standings)):
        for name, count in request.members.items():
            row = view.row(name, number)
            if row is not None:
                held[row] = count
    return held


SOFT_AFFINITY = _weigher(
    "ServerGroupSoftAffinityWeigher", GroupPolicy.SOFT_AFFINITY, "soft_affinity_weight_multiplier", 1
)
SOFT_ANTI_AFFINITY = _weigher(
    "ServerGroupSoftAntiAffinityWeigher", GroupPolicy.SOFT_ANTI_AFFINITY, "soft_anti_affinity_weight_multiplier", -1
)
