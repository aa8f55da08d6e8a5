# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts with a newer hypervisor version; 0 if not reported."""

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn:
    return np.fmax(view.facts.numbers("hypervisor_version"), 0.0)


WEIGHER = Weigher(
    "HypervisorVersionWeigher",
    raw,
    reads={"compute": frozenset({"facts"})},
)
