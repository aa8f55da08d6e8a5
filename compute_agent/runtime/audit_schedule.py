# SPDX-License-Identifier: Apache-2.0
"""Times at which a service host audits: before it serves, on request, and again after a failed audit."""

import functools
import threading
from collections.abc import Callable

from oslo_log import log

from compute_agent.attempts.audit import HostAuditor
from compute_agent.attempts.calls import CallRejected, CallUnanswered
from compute_agent.runtime.executor import JobTimer, SerialQueue
from compute_agent.runtime.intervals import AgentIntervals
from rpcapi.daemon.waiting import wait_for

LOG = log.getLogger(__name__)


class AuditSchedule:
    """Audits in the host's queue, each followed by ``advance``: its answer may have ended attempts."""

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
        """Audit in ``epoch`` or a later one that the store names; waits for the claims service."""
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
        """Queue an audit in ``epoch`` unless it is done or queued; ``always`` queues it anyway."""
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
            # The next answer to a report or this timer repeats the audit, whichever is first.
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
