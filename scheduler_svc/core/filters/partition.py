# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts in unavailable partitions, and partitions that a move may not leave for."""

from collections.abc import Iterable, Iterator

import numpy as np

from rpcapi.resources import transient
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "PartitionFilter"  # always applied
REASON = "partition unavailable"
REASON_OTHER = "in another partition than the server"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts in the server's own partition if a move must stay, and those whose partition may be back soon."""
    if request.stays_in_partition and request.source_partition is not None:
        yield HostPredicate(REASON_OTHER, view.in_partition(request.source_partition))
    decision = request.decision
    unavailable = [name for name in decision.unavailable_partitions if name not in decision.just_unavailable]
    if unavailable:
        yield HostPredicate(REASON, _outside(view, unavailable))


def available(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts in available partitions; the last predicate, because callers wait for the hosts that it rejects."""
    if request.decision.just_unavailable:
        yield HostPredicate(transient.PARTITION_JUST_AWAY, _outside(view, request.decision.just_unavailable))


def _outside(view: View, partitions: Iterable[str]) -> Column:
    outside: Column = ~np.logical_or.reduce([view.in_partition(name) for name in partitions])
    return outside


FILTER = Filter(NAME, predicates, reasons=(REASON, REASON_OTHER))
AVAILABLE = Filter(NAME, available, reasons=(transient.PARTITION_JUST_AWAY,))
