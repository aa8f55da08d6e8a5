# SPDX-License-Identifier: Apache-2.0
"""Is the service host alive, enabled, and audited in this epoch?"""

from collections.abc import Iterator

from rpcapi.model.claims import NOT_AUDITED
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"
REASON_CLOSED = NOT_AUDITED


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass whose service reported lately, is enabled, and takes claims in this epoch."""
    yield Sieve(REASON_DOWN, view.alive)
    yield Sieve(REASON_DISABLED, view.enabled)
    yield Sieve(REASON_CLOSED, view.opened)


FILTER = Filter(NAME, sieves, {"service": frozenset({"alive", "enabled", "audited"})})
