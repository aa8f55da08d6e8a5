# SPDX-License-Identifier: Apache-2.0
"""Times at which a service host audits and reports."""

import functools
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from oslo_log import log

from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.calls import CallRejected, CallUnanswered, IdentityRefused
from compute_agent.runtime.executor import JobTimer, SerialQueue
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.faults import FaultInjector, SimulatedFault
from compute_agent.state_files import FolderInUse
from rpcapi import objects
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)


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


class AuditSchedule:
    """Scheduler of audits on the host's queue.

    Calls ``advance`` after each audit, because the answer may have ended attempts.
    """

    def __init__(
        self,
        host: str,
        auditor: HostAuditor,
        queue: SerialQueue,
        intervals: Callable[[], AgentIntervals],
        advance: Callable[[], None],
    ) -> None:
        self._host = host
        self._auditor = auditor
        self._queue = queue
        self._intervals = intervals
        self._advance = advance
        self._timer: JobTimer | None = None
        self._queued_epoch = 0  # epoch of the queued audit; 0 if none

    def join(self, epoch: int, stopping: threading.Event) -> None:
        """Audit in ``epoch``, or in the later epoch that the store names. Waits for the claims service."""
        while True:
            answer = wait_for(
                "The claims service",
                functools.partial(self._auditor.audit, epoch),
                stopping,
                retry_on=(CallUnanswered,),
            )
            if answer.epoch == epoch:
                break
            epoch = answer.epoch
        self._request_after(answer.again_s, epoch)

    def request(self, epoch: int, always: bool = False) -> None:
        """Queue an audit in ``epoch`` unless it is done or queued; with ``always`` in any case."""
        if epoch <= 0 or (not always and epoch <= max(self._auditor.epoch, self._queued_epoch)):
            return
        self._queued_epoch = epoch
        self._queue.submit(lambda: self._audit(epoch))

    def repeat(self) -> None:
        """Audit now, in the epoch of the last audit."""
        self._audit(self._auditor.epoch)

    def _audit(self, epoch: int) -> None:
        try:
            answer = self._auditor.audit(epoch)
        except (CallUnanswered, CallRejected) as error:
            # The next answer to a report or this timer repeats the audit, whichever comes first.
            LOG.warning("%s; retrying the audit of host %s", error, self._host)
            self._request_after(self._intervals().retry_max, epoch)
            return
        finally:
            self._queued_epoch = 0
        if answer.epoch != epoch:
            self.request(answer.epoch)
        else:
            self._request_after(answer.again_s, epoch)
        self._advance()

    def _request_after(self, seconds: float, epoch: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if seconds > 0:
            self._timer = self._queue.submit_after(seconds, lambda: self.request(epoch, always=True))


class ReportedHost(Protocol):
    name: str

    def remind(self) -> None:
        """Queue repeated reports about guests and releases that a report delayed.

        Called before each periodic report.
        """

    def follow(self, answer: objects.StatsAnswer) -> None:
        """Queue the audit that the answer to a report requests."""


class ReportSchedule:
    """Scheduler of a host's reports, on a separate queue so that a slow scheduler delays no guests."""

    def __init__(
        self,
        host: ReportedHost,
        *,
        reporter: StatsReporter,
        queue: SerialQueue,
        intervals: Callable[[], AgentIntervals],
        fault_injector: FaultInjector,
        restart: Callable[[], None],
        leave: Callable[[], None],
    ) -> None:
        """``restart`` restarts the host's agent, ``leave`` ends its service; both return at once."""
        self._host = host
        self._reporter = reporter
        self._queue = queue
        self._intervals = intervals
        self._fault_injector = fault_injector
        self._restart = restart
        self._leave = leave
        self._urgent_report_queued = False
        self._silent = False  # simulated fault: send no reports

    def register(self, stopping: threading.Event) -> int:
        """Send the first report and return the epoch. Waits while the scheduler is unavailable."""
        answer = wait_for("The scheduler", self._reporter.report, stopping, retry_on=(CallUnanswered,))
        return int(answer.epoch)

    def begin(self) -> None:
        """Start the periodic reports; the first pause is random to spread hosts that started together."""
        self._queue.submit_after(self._intervals().report_interval * random.random(), self._report_due)

    def report_change(self) -> None:
        if not self._urgent_report_queued:
            self._urgent_report_queued = True
            self._queue.submit(self._report_change)

    def _report_later(self) -> None:
        intervals = self._intervals()
        pause = intervals.report_interval * random.uniform(1.0 - intervals.report_jitter, 1.0 + intervals.report_jitter)
        self._queue.submit_after(pause, self._report_due)

    def _report_due(self) -> None:
        match self._fault_injector.next_fault():
            case SimulatedFault.NONE:
                self._report()
            case SimulatedFault.SILENCE:
                self._silent = True
                silence = self._fault_injector.profile().silence_time
                LOG.warning("Host %s is silent for %g s (simulated fault)", self._host.name, silence)
                self._queue.submit_after(silence, self._report)
            case SimulatedFault.RESTART:
                # The restarted agent schedules its own reports.
                LOG.warning("Host %s restarts its agent (simulated fault)", self._host.name)
                self._restart()

    def _report_change(self) -> None:
        self._urgent_report_queued = False
        if not self._silent:
            self._send_report(urgent=True)

    def _report(self) -> None:
        self._silent = False
        self._host.remind()
        try:
            self._send_report()
        finally:
            self._report_later()

    def _send_report(self, urgent: bool = False) -> None:
        try:
            answer = self._reporter.report(urgent)
        except CallUnanswered as error:
            LOG.warning("%s; host %s will report again", error, self._host.name)
        except IdentityRefused as error:
            LOG.error("Stopped serving host %s: %s", self._host.name, error)
            self._restart()
        except CallRejected as error:
            LOG.error("%s", error)
            self._host.remind()  # claims wait for no report that the scheduler rejects
        except FolderInUse as error:
            LOG.error("Stopped serving host %s: superseded by another agent, and %s", self._host.name, error)
            self._leave()
        else:
            self._host.follow(answer)
