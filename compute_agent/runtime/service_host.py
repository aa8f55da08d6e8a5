# SPDX-License-Identifier: Apache-2.0
"""Service host: applies messages and advances the saga in its serial queue."""

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from oslo_log import log

from compute_agent.attempt import Attempt
from compute_agent.attempts import builder, copies
from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.saga import AttemptSaga
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.runtime.executor import JobTimer, SerialQueue
from compute_agent.runtime.schedules import AgentIntervals, AuditSchedule, ReportedHost, ReportSchedule
from rpcapi import objects

LOG = log.getLogger(__name__)
Message = TypeVar("Message")

FIRST_RETRY = 0.5  # seconds


class ServiceHost:
    def __init__(
        self,
        guest_manager: GuestManager,
        *,
        saga: AttemptSaga,
        auditor: HostAuditor,
        make_reports: Callable[[ReportedHost], ReportSchedule],
        queue: SerialQueue,
        intervals: Callable[[], AgentIntervals],
        die: Callable[[], None],
    ) -> None:
        self.name = guest_manager.host
        self.guest_manager = guest_manager
        self.reports = make_reports(self)
        self.audits = AuditSchedule(self.name, auditor, queue, intervals, self.advance)
        self._saga = saga
        self._queue = queue
        self._intervals = intervals
        self._die = die
        self._advance_queued = False
        self._saga_timer: JobTimer | None = None
        self._failures = 0

    def join(self, stopping: threading.Event) -> None:
        """Register the nodes, then audit in the store's epoch. Waits while services are unavailable.

        Raises CallRejected, IdentityRefused if another state folder owns the host's name, and ShutdownRequested.
        """
        epoch = self.reports.register(stopping)
        self.audits.join(epoch, stopping)
        self.advance()
        self.reports.begin()

    def build(self, ctxt: Any, intents: Sequence[Attempt], requirements: BuildRequirements) -> None:
        self._submit_change(ctxt, lambda: builder.build(self.guest_manager, intents, requirements))

    def submit(
        self,
        ctxt: Any,
        apply: Callable[[GuestManager, Sequence[Message], str, dict[str, str]], None],
        messages: Sequence[Message],
    ) -> None:
        owner = {"project": ctxt.project_id or "", "user": ctxt.user_id or ""}
        self._submit_change(ctxt, lambda: apply(self.guest_manager, messages, ctxt.request_id, owner))

    def follow(self, answer: objects.StatsAnswer) -> None:
        """Queue an audit if the answer to a report or an earlier isolation requires it."""
        self.audits.request(answer.epoch, always=answer.audit or self.guest_manager.audit_duty.is_due)
        if self._saga.awaits_report and not (answer.need_full or answer.superseded):
            self.advance()  # after an answer that applied nothing, the next periodic report advances

    def remind(self) -> None:
        """Queue repeated reports about guests that messages have changed."""
        self._queue.submit(self._remind)

    def _submit_change(self, ctxt: Any, change: Callable[[], None]) -> None:
        def job() -> None:
            ctxt.update_store()
            change()
            self._report_assignment_changes()
            self.advance()

        self._queue.submit(job)

    def advance(self) -> None:
        """Queue one saga pass after all queued jobs, so that its calls cover the work of many messages."""
        if not self._advance_queued:
            self._advance_queued = True
            self._queue.submit(self._advance)

    def _advance(self) -> None:
        self._advance_queued = False
        if self._saga_timer is not None:
            self._saga_timer.cancel()
            self._saga_timer = None
        if self.guest_manager.audit_duty.is_due:
            # Journalled attempts may run elsewhere by now. The audit ends those attempts, then advances the rest.
            LOG.info("Host %s may have been fenced unnoticed: auditing before further actions", self.name)
            if self.guest_manager.audit_duty.is_isolated:
                self.reports.report_change()  # its answer ends the isolation, and then requests the audit
            else:
                self.audits.repeat()
            return
        # A pass that raises, as on a full disk, is retried as well.
        unfinished = True
        waits_ms: list[int | None] = []
        try:
            waits_ms.append(copies.advance(self.guest_manager, self._die))
            unfinished, boot_ms = self._saga.advance()
            waits_ms.append(boot_ms)
            if self._saga.awaits_report:
                self.reports.report_change()
        finally:
            self._failures = self._failures + 1 if unfinished else 0
            self._report_assignment_changes()
            pauses = [self._backoff()] if unfinished else []
            pauses += [wait_ms / 1000 for wait_ms in waits_ms if wait_ms is not None]
            if pauses:
                self._saga_timer = self._queue.submit_after(min(pauses), self.advance)
        if self.guest_manager.audit_duty.is_due:
            self.advance()  # the pass stopped early; the next pass audits first

    def _remind(self) -> None:
        if self._saga.remind() or self._saga.awaits_report:
            self.advance()

    def _backoff(self) -> float:
        longest: float = min(self._intervals().retry_max, FIRST_RETRY * 2 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)

    def _report_assignment_changes(self) -> None:
        """Queue an urgent report if assigned CPUs or devices changed: the store knows amounts only."""
        if self.guest_manager.tracker.take_unreported_changes():
            self.reports.report_change()
