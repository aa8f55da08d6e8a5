# SPDX-License-Identifier: Apache-2.0
"""Is the service host alive and enabled?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass whose service reported lately, and is enabled."""
    yield Sieve(REASON_DOWN, view.alive)
    yield Sieve(REASON_DISABLED, view.enabled)


FILTER = Filter(NAME, sieves, {"service": frozenset({"alive", "enabled"})})
