# SPDX-License-Identifier: Apache-2.0
"""Hosts with a newer hypervisor first, by the number that they report of it; 0 where they report none."""

import numpy as np

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return the version of each row's hypervisor."""
    return np.fmax(view.facts.numbers("hypervisor_version"), 0.0)


def step(request: Request) -> float:
    """Return 0: instances do not change it."""
    return 0.0


WEIGHER = Weigher(
    "HypervisorVersionWeigher",
    raw,
    step,
    {"compute": frozenset({"facts"})},
    option="hypervisor_version_weight_multiplier",
)
