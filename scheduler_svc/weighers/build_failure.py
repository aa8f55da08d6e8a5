# SPDX-License-Identifier: Apache-2.0
"""Hosts on which no build failed of late first: its multiplier says how bad failures are."""

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers import reported
from scheduler_svc.weighers.weigher import Weigher


def raw(view: View, request: Request) -> FloatColumn | None:
    """Return how many builds failed on each row since one last succeeded there."""
    failed = reported.count(view, reported.FAILED_BUILDS)
    return failed if failed.any() else None


def step(request: Request) -> float:
    """Return 0: an instance is not expected to fail."""
    return 0.0


WEIGHER = Weigher(
    "BuildFailureWeigher",
    raw,
    step,
    {"compute": frozenset({reported.FAILED_BUILDS})},
    option="build_failure_weight_multiplier",
    sign=-1,
)
