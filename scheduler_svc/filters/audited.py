# SPDX-License-Identifier: Apache-2.0
"""Has the service host audited in this epoch, or is it about to? Part of the filter ComputeFilter."""

from collections.abc import Iterator

from rpcapi.model.claims import NOT_AUDITED
from scheduler_svc.filters import compute
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

REASON_OVERDUE = "audit overdue"
REASON_CLOSED = NOT_AUDITED
REASONS = (REASON_OVERDUE, REASON_CLOSED)


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that take claims in this epoch; of the others, who still has time to audit is told apart."""
    if view.audits_overdue:
        yield Sieve(REASON_OVERDUE, view.opened | view.awaited)
    yield Sieve(REASON_CLOSED, view.opened)


FILTER = Filter(compute.NAME, sieves, {"service": frozenset({"audited"})})
