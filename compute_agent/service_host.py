# SPDX-License-Identifier: Apache-2.0
"""One service host at work: messages, timers and audits, each in its turn."""

import functools
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_log import log

from compute_agent.attempt import Attempt, AttemptRef
from compute_agent.audit import AuditResult, HostAuditor
from compute_agent.builder import AdmissionController
from compute_agent.calls import CallRejected, CallUnanswered
from compute_agent.holdings import GuestManager
from compute_agent.journal import Clock, wall_ms
from compute_agent.lanes import JobTimer, SerialQueue
from compute_agent.mishaps import FaultInjector, SimulatedFault
from compute_agent.reporter import StatsReporter
from compute_agent.saga import AttemptSaga
from compute_agent.wish import BuildRequirements
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)

FIRST_RETRY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class AgentIntervals:
    """Seconds between reports, and the longest pause between tries of what got no answer.

    ``report_jitter`` is how far a pause between reports strays, as a share of it.
    """

    report_interval: float = 10.0
    retry_max: float = 15.0
    report_jitter: float = 0.2


class ServiceHost:
    """Puts everything that touches the host's holdings into one lane, and its reports into another."""

    def __init__(
        self,
        guest_manager: GuestManager,
        *,
        builder: AdmissionController,
        saga: AttemptSaga,
        auditor: HostAuditor,
        reporter: StatsReporter,
        queue: SerialQueue,
        report_queue: SerialQueue,
        intervals: Callable[[], AgentIntervals],
        fault_injector: FaultInjector,
        restart: Callable[[], None],
        clock: Clock = wall_ms,
    ) -> None:
        self.name = guest_manager.host
        self.guest_manager = guest_manager
        self._builder = builder
        self._saga = saga
        self._auditor = auditor
        self._reporter = reporter
        self._queue = queue
        self._report_queue = report_queue
        self._intervals = intervals
        self._fault_injector = fault_injector
        self._restart = restart
        self._clock = clock
        self._advance_queued = False
        self._saga_timer: JobTimer | None = None
        self._failures = 0
        self._audit_timer: JobTimer | None = None
        self._urgent_report_queued = False  # a report waits that is sent for what changed
        self._silent = False  # simulated: no report is sent
        self._queued_audit_epoch = 0  # the epoch of an audit that waits in the lane

    # -- start -----------------------------------------------------------------------------------------------------

    def join(self, stopping: threading.Event) -> None:
        """Register the nodes, learn the epoch, and audit; what is away is waited for.

        Raises Rejected when the scheduler will not have the host as it is, and waiting.ShutdownRequested.
        """
        epoch = wait_for("The scheduler", self._reporter.report, stopping, away=(CallUnanswered,)).epoch
        result = self._await_audit(epoch, stopping)
        while result.epoch != epoch:
            epoch = result.epoch
            result = self._await_audit(epoch, stopping)
        self._audit_after(result.again_s, epoch)
        self.advance()
        # Any part of an interval: hundreds of hosts that started together report all through it.
        self._report_queue.submit_after(self._intervals().report_interval * random.random(), self._report_due)

    def _await_audit(self, epoch: int, stopping: threading.Event) -> AuditResult:
        audit_epoch = functools.partial(self._auditor.audit, epoch)
        return wait_for("The claims service", audit_epoch, stopping, away=(CallUnanswered,))

    # -- messages ----------------------------------------------------------------------------------------------------

    def build(self, ctxt: Any, intents: Sequence[Attempt], requirements: BuildRequirements) -> None:
        """Take a build in; returns before it is done."""
        self._submit_change(ctxt, lambda: self._builder.build(intents, requirements))

    def terminate(self, ctxt: Any, refs: Sequence[AttemptRef]) -> None:
        """Take a termination in; returns before it is done."""
        owner = {"project": ctxt.project_id or "", "user": ctxt.user_id or ""}
        self._submit_change(ctxt, lambda: self._builder.terminate(refs, ctxt.request_id, owner))

    def audit(self, epoch: int, always: bool = False) -> None:
        """Audit in ``epoch`` unless that has been done; with ``always`` do it once more."""
        if epoch <= 0 or (not always and epoch <= max(self._auditor.epoch, self._queued_audit_epoch)):
            return
        self._queued_audit_epoch = epoch
        self._queue.submit(lambda: self._audit(epoch))

    def _submit_change(self, ctxt: Any, change: Callable[[], None]) -> None:
        def job() -> None:
            ctxt.update_store()
            change()
            self._report_assignment_changes()
            self.advance()

        self._queue.submit(job)

    # -- the lane ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Have the saga walk once, after all that waits in the lane: so its calls carry many messages' work."""
        if not self._advance_queued:
            self._advance_queued = True
            self._queue.submit(self._advance)

    def _advance(self) -> None:
        self._advance_queued = False
        if self._saga_timer is not None:
            self._saga_timer.cancel()
            self._saga_timer = None
        # Should the walk itself fail, such as on a full disk, it is tried again all the same.
        unfinished, wake_ms = True, None
        try:
            progress = self._saga.advance()
            unfinished, wake_ms = progress.unfinished, progress.wake_ms
        finally:
            self._failures = self._failures + 1 if unfinished else 0
            self._report_assignment_changes()
            pauses = [self._backoff()] if unfinished else []
            if wake_ms is not None:
                pauses.append(max(0.0, (wake_ms - self._clock()) / 1000))
            if pauses:
                self._saga_timer = self._queue.submit_after(min(pauses), self.advance)

    def _backoff(self) -> float:
        longest = min(self._intervals().retry_max, FIRST_RETRY * 2 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)

    def _audit(self, epoch: int) -> None:
        try:
            result = self._auditor.audit(epoch)
        except (CallUnanswered, CallRejected) as error:
            # The next answer to a report asks for it again, or this timer, whichever is first.
            LOG.warning("%s; host %s is audited again later", error, self.name)
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
        """Report at once which CPUs and devices have changed hands: until then nobody can decide by what is left.

        Amounts need no haste, the store counts them by its claims.
        """
        if self.guest_manager.tracker.take_unreported_changes() and not self._urgent_report_queued:
            self._urgent_report_queued = True
            self._report_queue.submit(self._report_change)

    # -- the report lane -----------------------------------------------------------------------------------------------

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
                silence = self._fault_injector.silence_seconds()
                LOG.warning("Host %s is silent for %g s: simulated", self.name, silence)
                self._report_queue.submit_after(silence, self._report)
            case SimulatedFault.RESTART:
                # The next life reports by itself.
                self._queue.submit(self._restart)

    def _report_change(self) -> None:
        self._urgent_report_queued = False
        if not self._silent:
            self._send_report(urgent=True)

    def _report(self) -> None:
        self._silent = False
        try:
            self._send_report()
        finally:
            self._report_later()

    def _send_report(self, urgent: bool = False) -> None:
        try:
            answer = self._reporter.report(urgent)
        except CallUnanswered as error:
            LOG.warning("%s; host %s reports again later", error, self.name)
        except CallRejected as error:
            LOG.error("%s", error)
        else:
            self.audit(answer.epoch, always=answer.audit)
