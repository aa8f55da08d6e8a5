# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts whose service host is down or disabled."""

from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, Sieve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"


def sieves(view: View, request: SchedulingRequest) -> Iterator[Sieve]:
    """Accept hosts whose service is alive and enabled."""
    yield Sieve(REASON_DOWN, view.alive)
    yield Sieve(REASON_DISABLED, view.enabled)


FILTER = Filter(NAME, sieves, {"service": frozenset({"alive", "enabled"})})
