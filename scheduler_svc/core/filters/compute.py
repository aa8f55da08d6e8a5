# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts that are down, disabled, too old, or not audited in this epoch."""

from collections.abc import Iterator

from rpcapi.resources import transient
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

NAME = "ComputeFilter"
REASON_DOWN = "service down"
REASON_DISABLED = "service disabled"
REASON_TOO_OLD = "agent too old"
REASON_OVERDUE = "audit overdue"
AUDIT_REASONS = (REASON_OVERDUE, transient.NOT_AUDITED)


def service(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept enabled hosts that are live or just down. ``waiting`` rejects the latter at the end of the pipeline."""
    yield HostPredicate(REASON_DOWN, view.services.alive | view.services.just_down)
    yield HostPredicate(REASON_DISABLED, view.services.enabled)
    yield HostPredicate(REASON_TOO_OLD, ~view.services.too_old)


def waiting(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept live hosts that were audited in this epoch. Runs last, because callers wait for the rejected hosts."""
    yield HostPredicate(transient.JUST_DOWN, view.services.alive)
    if view.services.audits_overdue:
        yield HostPredicate(REASON_OVERDUE, view.services.opened | view.services.audit_pending)
    yield HostPredicate(transient.NOT_AUDITED, view.services.opened)


SERVICE = Filter(
    NAME,
    service,
    {"service": frozenset({"alive", "enabled", "too_old"})},
    reasons=(REASON_DOWN, REASON_DISABLED, REASON_TOO_OLD),
)
WAITING = Filter(
    NAME, waiting, {"service": frozenset({"alive", "audited"})}, reasons=(transient.JUST_DOWN, *AUDIT_REASONS)
)
