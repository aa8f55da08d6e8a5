# SPDX-License-Identifier: Apache-2.0
"""One service host at work: messages, timers and audits, each in its turn."""

import functools
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_log import log

from compute_agent.attempt import Attempt, Ref
from compute_agent.audit import Audited, Auditor
from compute_agent.builder import Builder
from compute_agent.calls import Rejected, Unanswered
from compute_agent.holdings import Holdings
from compute_agent.journal import Clock, wall_ms
from compute_agent.lanes import Lane, Timer
from compute_agent.mishaps import Mishap, Mishaps
from compute_agent.reporter import Reporter
from compute_agent.saga import Saga
from compute_agent.wish import Wish
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)

FIRST_RETRY = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Pace:
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
        holdings: Holdings,
        *,
        builder: Builder,
        saga: Saga,
        auditor: Auditor,
        reporter: Reporter,
        lane: Lane,
        report_lane: Lane,
        pace: Callable[[], Pace],
        mishaps: Mishaps,
        restart: Callable[[], None],
        clock: Clock = wall_ms,
    ) -> None:
        self.name = holdings.host
        self.holdings = holdings
        self._builder = builder
        self._saga = saga
        self._auditor = auditor
        self._reporter = reporter
        self._lane = lane
        self._report_lane = report_lane
        self._pace = pace
        self._mishaps = mishaps
        self._restart = restart
        self._clock = clock
        self._advance_queued = False
        self._timer: Timer | None = None
        self._failures = 0
        self._audit_timer: Timer | None = None
        self._telling = False  # a report waits that is sent for what changed
        self._silent = False  # simulated: no report is sent
        self._audit_wanted = 0  # the epoch of an audit that waits in the lane

    # -- start -----------------------------------------------------------------------------------------------------

    def join(self, stopping: threading.Event) -> None:
        """Register the nodes, learn the epoch, and audit; what is away is waited for.

        Raises Rejected when the scheduler will not have the host as it is, and waiting.Stopped.
        """
        epoch = wait_for("The scheduler", self._reporter.report, stopping, away=(Unanswered,)).epoch
        audited = self._await_audit(epoch, stopping)
        while audited.epoch != epoch:
            epoch = audited.epoch
            audited = self._await_audit(epoch, stopping)
        self._audit_after(audited.again_s, epoch)
        self.advance()
        # Any part of an interval: hundreds of hosts that started together report all through it.
        self._report_lane.after(self._pace().report_interval * random.random(), self._report_due)

    def _await_audit(self, epoch: int, stopping: threading.Event) -> Audited:
        look = functools.partial(self._auditor.audit, epoch)
        return wait_for("The claims service", look, stopping, away=(Unanswered,))

    # -- messages ----------------------------------------------------------------------------------------------------

    def build(self, ctxt: Any, intents: Sequence[Attempt], wish: Wish) -> None:
        """Take a build in; returns before it is done."""
        self._do(ctxt, lambda: self._builder.build(intents, wish))

    def terminate(self, ctxt: Any, refs: Sequence[Ref]) -> None:
        """Take a termination in; returns before it is done."""
        owner = {"project": ctxt.project_id or "", "user": ctxt.user_id or ""}
        self._do(ctxt, lambda: self._builder.terminate(refs, ctxt.request_id, owner))

    def audit(self, epoch: int, always: bool = False) -> None:
        """Audit in ``epoch`` unless that has been done; with ``always`` do it once more."""
        if epoch <= 0 or (not always and epoch <= max(self._auditor.epoch, self._audit_wanted)):
            return
        self._audit_wanted = epoch
        self._lane.submit(lambda: self._audit(epoch))

    def _do(self, ctxt: Any, change: Callable[[], None]) -> None:
        def job() -> None:
            ctxt.update_store()
            change()
            self._tell()
            self.advance()

        self._lane.submit(job)

    # -- the lane ----------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Have the saga walk once, after all that waits in the lane: so its calls carry many messages' work."""
        if not self._advance_queued:
            self._advance_queued = True
            self._lane.submit(self._advance)

    def _advance(self) -> None:
        self._advance_queued = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Should the walk itself fail, such as on a full disk, it is tried again all the same.
        undone, wake_ms = True, None
        try:
            progress = self._saga.advance()
            undone, wake_ms = progress.undone, progress.wake_ms
        finally:
            self._failures = self._failures + 1 if undone else 0
            self._tell()
            pauses = [self._backoff()] if undone else []
            if wake_ms is not None:
                pauses.append(max(0.0, (wake_ms - self._clock()) / 1000))
            if pauses:
                self._timer = self._lane.after(min(pauses), self.advance)

    def _backoff(self) -> float:
        longest = min(self._pace().retry_max, FIRST_RETRY * 2 ** min(self._failures - 1, 20))
        return longest * random.uniform(0.5, 1.0)

    def _audit(self, epoch: int) -> None:
        try:
            audited = self._auditor.audit(epoch)
        except (Unanswered, Rejected) as error:
            # The next answer to a report asks for it again, or this timer, whichever is first.
            LOG.warning("%s; host %s is audited again later", error, self.name)
            self._audit_after(self._pace().retry_max, epoch)
            return
        finally:
            self._audit_wanted = 0
        if audited.epoch != epoch:
            self.audit(audited.epoch)
        else:
            self._audit_after(audited.again_s, epoch)
        self.advance()

    def _audit_after(self, seconds: float, epoch: int) -> None:
        if self._audit_timer is not None:
            self._audit_timer.cancel()
        if seconds > 0:
            self._audit_timer = self._lane.after(seconds, lambda: self.audit(epoch, always=True))

    def _tell(self) -> None:
        """Report at once which CPUs and devices have changed hands: until then nobody can decide by what is left.

        Amounts need no haste, the store counts them by its claims.
        """
        if self.holdings.tracker.take_untold() and not self._telling:
            self._telling = True
            self._report_lane.submit(self._report_change)

    # -- the report lane -----------------------------------------------------------------------------------------------

    def _report_later(self) -> None:
        pace = self._pace()
        pause = pace.report_interval * random.uniform(1.0 - pace.report_jitter, 1.0 + pace.report_jitter)
        self._report_lane.after(pause, self._report_due)

    def _report_due(self) -> None:
        match self._mishaps.next():
            case Mishap.NONE:
                self._report()
            case Mishap.SILENCE:
                self._silent = True
                silence = self._mishaps.silence()
                LOG.warning("Host %s is silent for %g s: simulated", self.name, silence)
                self._report_lane.after(silence, self._report)
            case Mishap.RESTART:
                # The next life reports by itself.
                self._lane.submit(self._restart)

    def _report_change(self) -> None:
        self._telling = False
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
        except Unanswered as error:
            LOG.warning("%s; host %s reports again later", error, self.name)
        except Rejected as error:
            LOG.error("%s", error)
        else:
            self.audit(answer.epoch, always=answer.audit)
