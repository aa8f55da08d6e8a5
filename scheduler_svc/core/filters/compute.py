# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts whose service host is down, disabled or too old."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"
REASON_TOO_OLD = "agent too old"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with a service that is alive, enabled and of a supported version."""
    yield HostPredicate(REASON_DOWN, view.services.alive)
    yield HostPredicate(REASON_DISABLED, view.services.enabled)
    yield HostPredicate(REASON_TOO_OLD, ~view.services.too_old)


FILTER = Filter(NAME, predicates, {"service": frozenset({"alive", "enabled", "too_old"})})
