# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts in unavailable partitions, and in partitions to which an instance may not move."""

from collections.abc import Iterable, Iterator

import numpy as np

from rpcapi.resources import transient
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "PartitionFilter"  # applied when needed, whatever filters are enabled
REASON = "partition unavailable"
REASON_OTHER = "in another partition than the server"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts to which the instance may move, unless the partition has been unavailable for long."""
    if request.stays_in_partition and request.source_partition is not None:
        yield HostPredicate(REASON_OTHER, view.in_partition(request.source_partition))
    decision = request.decision
    unavailable = [name for name in decision.unavailable_partitions if name not in decision.just_unavailable]
    if unavailable:
        yield HostPredicate(REASON, _outside(view, unavailable))


def available(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Reject partitions that just became unavailable. Runs last, because callers wait for the rejected hosts."""
    if request.decision.just_unavailable:
        yield HostPredicate(transient.PARTITION_JUST_AWAY, _outside(view, request.decision.just_unavailable))


def _outside(view: View, partitions: Iterable[str]) -> Column:
    outside: Column = ~np.logical_or.reduce([view.in_partition(name) for name in partitions])
    return outside


FILTER = Filter(NAME, predicates, reasons=(REASON, REASON_OTHER))
AVAILABLE = Filter(NAME, available, reasons=(transient.PARTITION_JUST_AWAY,))
