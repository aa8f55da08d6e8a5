# SPDX-License-Identifier: Apache-2.0
"""Hosts by how many instances they are building or moving: with a negative multiplier the idle first."""

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import reported
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn:
    """Return how many such operations each row reports."""
    return reported.count(view, reported.IO_OPS)


def step(request: Request) -> float:
    """Return 1: an instance that is placed is one that is built."""
    return 1.0


WEIGHER = Weigher(
    "IoOpsWeigher",
    raw,
    step,
    {"compute": frozenset({reported.IO_OPS})},
    option="io_ops_weight_multiplier",
    floor=0.0,
)
