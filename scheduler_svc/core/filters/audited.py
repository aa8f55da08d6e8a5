# SPDX-License-Identifier: Apache-2.0
"""Rejects hosts that have not audited in the current epoch. Part of ComputeFilter."""

from collections.abc import Iterator

from rpcapi.resources.claims import NOT_AUDITED
from scheduler_svc.core.filters import compute
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = compute.NAME
REASON_OVERDUE = "audit overdue"
REASON_CLOSED = NOT_AUDITED
REASONS = (REASON_OVERDUE, REASON_CLOSED)


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that were audited in this epoch; an overdue audit has its own reason."""
    if view.services.audits_overdue:
        yield HostPredicate(REASON_OVERDUE, view.services.opened | view.services.audit_pending)
    yield HostPredicate(REASON_CLOSED, view.services.opened)


FILTER = Filter(NAME, predicates, {"service": frozenset({"audited"})})
