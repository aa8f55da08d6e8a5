# SPDX-License-Identifier: Apache-2.0
"""Hosts by how many instances they run: with a positive multiplier the fuller first, with a negative one the others."""

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import reported
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return how many instances each row reports."""
    return reported.count(view, reported.INSTANCES)


def step(request: Request) -> float:
    """Return 1: an instance more."""
    return 1.0


WEIGHER = Weigher(
    "NumInstancesWeigher",
    raw,
    step,
    {"compute": frozenset({reported.INSTANCES})},
    option="num_instances_weight_multiplier",
)
