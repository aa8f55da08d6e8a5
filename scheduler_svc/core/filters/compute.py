# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts whose service host is down or disabled."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts whose service is alive and enabled."""
    yield HostPredicate(REASON_DOWN, view.services.alive)
    yield HostPredicate(REASON_DISABLED, view.services.enabled)


FILTER = Filter(NAME, predicates, {"service": frozenset({"alive", "enabled"})})
