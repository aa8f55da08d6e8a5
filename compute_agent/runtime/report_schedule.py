# SPDX-License-Identifier: Apache-2.0
"""Times at which a service host reports: at intervals, and at once after urgent changes."""

import random
import threading
from collections.abc import Callable
from typing import Protocol

from oslo_log import log

from compute_agent.attempts.calls import CallRejected, CallUnanswered, IdentityRefused
from compute_agent.runtime.executor import SerialQueue
from compute_agent.runtime.intervals import AgentIntervals
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.faults import FaultInjector, SimulatedFault
from compute_agent.state_files import FolderInUse
from rpcapi import objects
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)


class ReportedHost(Protocol):
    """Host that a schedule reports."""

    name: str

    def remind(self) -> None:
        """Queue repeated reports about guests; called before each report at an interval."""

    def follow(self, answer: objects.StatsAnswer) -> None:
        """Do what the answer to a report requests."""


class ReportSchedule:
    """Reports of a host in a queue of their own, so that a slow scheduler delays no guests."""

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
        """``restart`` and ``leave`` restart the host's agent and end its service, asynchronously."""
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
        """Send the first report and return the epoch; waits for an unavailable scheduler."""
        return wait_for("The scheduler", self._reporter.report, stopping, retry_on=(CallUnanswered,)).epoch

    def begin(self) -> None:
        """Report at intervals. The first pause is random, so that hosts started together spread their reports."""
        self._queue.submit_after(self._intervals().report_interval * random.random(), self._report_due)

    def report_change(self) -> None:
        """Queue an urgent report."""
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
        except FolderInUse as error:
            LOG.error("Stopped serving host %s: superseded by another agent, and %s", self._host.name, error)
            self._leave()
        else:
            self._host.follow(answer)
