# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts without recent build failures; the multiplier is the penalty per failure."""

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import reported
from scheduler_svc.core.weighers.weigher import Weigher


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return the number of builds that failed on each row since the last successful build there."""
    failed = reported.count(view, reported.FAILED_BUILDS)
    return failed if failed.any() else None


WEIGHER = Weigher(
    "BuildFailureWeigher",
    raw,
    # No step: an instance is expected to build.
    reads={"compute": frozenset({reported.FAILED_BUILDS})},
    sign=-1,
)
