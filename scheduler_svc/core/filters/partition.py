# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts in unavailable partitions, and partitions that a move may not leave for."""

from collections.abc import Iterator

import numpy as np

from rpcapi.resources.claims import PARTITION_UNAVAILABLE
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "PartitionFilter"  # always applied
REASON = PARTITION_UNAVAILABLE
REASON_OTHER = "in another partition than the server"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts in available partitions; for a move that must stay, only in the server's own."""
    if request.stays_in_partition and request.source_partition is not None:
        yield HostPredicate(REASON_OTHER, view.in_partition(request.source_partition))
    if request.decision.unavailable_partitions:
        yield HostPredicate(
            REASON,
            ~np.logical_or.reduce([view.in_partition(name) for name in request.decision.unavailable_partitions]),
        )


FILTER = Filter(NAME, predicates, reasons=(REASON, REASON_OTHER))
