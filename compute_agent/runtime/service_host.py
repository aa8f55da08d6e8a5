# SPDX-License-Identifier: Apache-2.0
"""Service host: schedules messages, saga passes, audits and reports on its serial queues."""

import functools
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from oslo_log import log

from compute_agent.attempt import Attempt
from compute_agent.attempts import builder, copies
from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.calls import CallRejected, CallUnanswered, IdentityRefused
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.attempts.saga import AttemptSaga
from compute_agent.resources.requirements import BuildRequirements
from compute_agent.runtime.executor import JobTimer, SerialQueue
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.faults import FaultInjector, SimulatedFault
from compute_agent.state_files import FolderInUse
from rpcapi import objects
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)
Message = TypeVar("Message")

FIRST_RETRY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class AgentIntervals:
    """Intervals of the agent.

    Attributes:
        report_interval: Seconds between reports.
        retry_max: Maximum seconds before a retry.
        report_jitter: Maximum deviation from ``report_interval``, as a share of it.
    """

    report_interval: float = 10.0
    retry_max: float = 15.0
    report_jitter: float = 0.2


class ServiceHost:
    """Service host with one serial queue for its state and another for its reports."""

    def __init__(
        self,
        guest_manager: GuestManager,
        *,
        saga: AttemptSaga,
        auditor: HostAuditor,
        reporter: StatsReporter,
        queue: SerialQueue,
        report_queue: SerialQueue,
        intervals: Callable[[], AgentIntervals],
        fault_injector: FaultInjector,
        restart: Callable[[], None],
        leave: Callable[[], None],
        die: Callable[[], None],
    ) -> None:
        self.name = guest_manager.host
        self.guest_manager = guest_manager
        self._saga = saga
        self._auditor = auditor
        self._reporter = reporter
        self._queue = queue
        self._report_queue = report_queue
        self._intervals = intervals
        self._fault_injector = fault_injector
        self._restart = restart
        self._leave = leave
        self._die = die
        self._advance_queued = False
        self._saga_timer: JobTimer | None = None
        self._failures = 0
        self._audit_timer: JobTimer | None = None
        self._urgent_report_queued = False
        self._silent = False  # simulated fault: send no reports
        self._queued_audit_epoch = 0  # epoch of the queued audit; 0 if none

    # -- start -----------------------------------------------------------------------------------------------------

    def join(self, stopping: threading.Event) -> None:
        """Register the nodes, get the epoch, and audit; waits for unavailable services.

        Raises CallRejected if the scheduler rejects the report, IdentityRefused if another state folder owns the host's
        name, and waiting.ShutdownRequested.
        """
        epoch = wait_for("The scheduler", self._reporter.report, stopping, retry_on=(CallUnanswered,)).epoch
        result = self._await_audit(epoch, stopping)
        while result.epoch != epoch:
            epoch = result.epoch
            result = self._await_audit(epoch, stopping)
        self._audit_after(result.again_s, epoch)
        self.advance()
        # The first pause is a random part of the interval, so that hosts started together spread their reports.
        self._report_queue.submit_after(self._intervals().report_interval * random.random(), self._report_due)

    def _await_audit(self, epoch: int, stopping: threading.Event) -> objects.AuditAnswer:
        audit_epoch = functools.partial(self._auditor.audit, epoch)
        return wait_for("The claims service", audit_epoch, stopping, retry_on=(CallUnanswered,))

    # -- messages ----------------------------------------------------------------------------------------------------

    def build(self, ctxt: Any, intents: Sequence[Attempt], requirements: BuildRequirements) -> None:
        """Queue a build."""
        self._submit_change(ctxt, lambda: builder.build(self.guest_manager, intents, requirements))

    def submit(
        self,
        ctxt: Any,
        apply: Callable[[GuestManager, Sequence[Message], str, dict[str, str]], None],
        messages: Sequence[Message],
    ) -> None:
        """Queue ``apply`` with ``messages`` about guests."""
        owner = {"project": ctxt.project_id or "", "user": ctxt.user_id or ""}
        self._submit_change(ctxt, lambda: apply(self.guest_manager, messages, ctxt.request_id, owner))

    def audit(self, epoch: int, always: bool = False) -> None:
        """Queue an audit in ``epoch`` unless it is done or queued; ``always`` queues it anyway."""
        if epoch <= 0 or (not always and epoch <= max(self._auditor.epoch, self._queued_audit_epoch)):
            return
        self._queued_audit_epoch = epoch
        self._queue.submit(lambda: self._audit(epoch))

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

    # -- host queue ---------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Queue one saga pass after all queued jobs, so that its calls combine the work of many messages."""
        if not self._advance_queued:
            self._advance_queued = True
            self._queue.submit(self._advance)

    def _advance(self) -> None:
        self._advance_queued = False
        if self._saga_timer is not None:
            self._saga_timer.cancel()
            self._saga_timer = None
        if self.guest_manager.audit_duty.is_due:
            # Journalled attempts may have moved elsewhere meanwhile. The audit ends those, then advances the rest.
            LOG.info("Host %s may have been fenced unnoticed: it audits before it acts", self.name)
            self._audit(self._auditor.epoch)
            return
        # A pass that fails, such as on a full disk, is retried as well.
        unfinished = True
        waits_ms: list[int | None] = []
        try:
            waits_ms.append(copies.advance(self.guest_manager, self._die))
            unfinished, boot_ms = self._saga.advance()
            waits_ms.append(boot_ms)
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
        if self._saga.remind():
            self.advance()

    def _backoff(self) -> float:
        longest = min(self._intervals().retry_max, FIRST_RETRY * 2 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)

    def _audit(self, epoch: int) -> None:
        try:
            result = self._auditor.audit(epoch)
        except (CallUnanswered, CallRejected) as error:
            # The next answer to a report or this timer repeats the audit, whichever is first.
            LOG.warning("%s; the audit of host %s will be retried", error, self.name)
            self._audit_after(self._intervals().retry_max, epoch)
            return
        finally:
            self._queued_audit_epoch = 0
        if result.epoch != epoch:
            self.audit(result.epoch)
        else:
            self._audit_after(result.again_s, epoch)
        self.advance()

    def _audit_after(self, seconds: float, epoch: int) -> None:
        if self._audit_timer is not None:
            self._audit_timer.cancel()
        if seconds > 0:
            self._audit_timer = self._queue.submit_after(seconds, lambda: self.audit(epoch, always=True))

    def _report_assignment_changes(self) -> None:
        """Queue an urgent report if assignments of CPUs or devices changed: the scheduler needs the free ones.

        Amounts are not urgent: the store counts them by claims.
        """
        if self.guest_manager.tracker.take_unreported_changes() and not self._urgent_report_queued:
            self._urgent_report_queued = True
            self._report_queue.submit(self._report_change)

    # -- report queue --------------------------------------------------------------------------------------------------

    def _report_later(self) -> None:
        intervals = self._intervals()
        pause = intervals.report_interval * random.uniform(1.0 - intervals.report_jitter, 1.0 + intervals.report_jitter)
        self._report_queue.submit_after(pause, self._report_due)

    def _report_due(self) -> None:
        match self._fault_injector.next_fault():
            case SimulatedFault.NONE:
                self._report()
            case SimulatedFault.SILENCE:
                self._silent = True
                silence = self._fault_injector.profile().silence_time
                LOG.warning("Host %s is silent for %g s (simulated fault)", self.name, silence)
                self._report_queue.submit_after(silence, self._report)
            case SimulatedFault.RESTART:
                # The restarted agent schedules its own reports.
                LOG.warning("Host %s restarts its agent (simulated fault)", self.name)
                self._queue.submit(self._restart)

    def _report_change(self) -> None:
        self._urgent_report_queued = False
        if not self._silent:
            self._send_report(urgent=True)

    def _report(self) -> None:
        self._silent = False
        self.remind()
        try:
            self._send_report()
        finally:
            self._report_later()

    def _send_report(self, urgent: bool = False) -> None:
        try:
            answer = self._reporter.report(urgent)
        except CallUnanswered as error:
            LOG.warning("%s; host %s will report again", error, self.name)
        except IdentityRefused as error:
            LOG.error("Host %s is no longer served: %s", self.name, error)
            self._queue.submit(self._restart)
        except CallRejected as error:
            LOG.error("%s", error)
        except FolderInUse as error:
            LOG.error("Host %s is served no more: another agent superseded this one, and %s", self.name, error)
            self._leave()
        else:
            self.audit(answer.epoch, always=answer.audit or self.guest_manager.audit_duty.is_due)
