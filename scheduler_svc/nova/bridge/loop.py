# SPDX-License-Identifier: Apache-2.0
"""Thread of the bridge: the process that holds the lease makes passes, the others stand by."""

import contextlib
import time
from collections.abc import Callable

from oslo_log import log
from sqlalchemy.exc import SQLAlchemyError

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from scheduler_svc import databases, metrics
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bridge.bridge import NovaBridge
from scheduler_svc.store.lease import DocumentLease, DocumentLeaseLost
from scheduler_svc.store.protocols.host_state import HostStateStore

LOG = log.getLogger(__name__)

POLL_SECONDS = 0.25  # interval of checks for requested reads
WAITING_SECONDS = 1.0  # interval of attempts to acquire the lease


class BridgeLoop(BackgroundLoop):
    """Loop that makes passes while it holds the lease: at intervals, and at once on request."""

    def __init__(
        self,
        bridge: NovaBridge,
        answer_question: Callable[[], None],
        lease: DocumentLease,
        store: HostStateStore,
        *,
        interval_s: float,
        full_interval_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``interval_s`` is the interval of reading changes, ``full_interval_s`` of reading everything."""
        super().__init__("nova bridge")
        self._bridge = bridge
        self._answer_question = answer_question
        self._lease = lease
        self._is_active = False
        self._store = store
        self._interval_s = interval_s
        self._full_interval_s = full_interval_s
        self._clock = clock
        self._requests = 0
        self._next_changes = self._next_everything = 0.0
        self._read_at = clock()  # time of the last successful pass, or of acquiring the lease
        self._failing = False

    def run_once(self) -> float:
        """Make a pass if due or requested; answer an open question; return a short pause."""
        if not self._is_active and not self._acquire():
            return WAITING_SECONDS
        self._lease.keep()
        requests, now = signals.reading_requests(self._store), self._clock()
        if requests != self._requests or now >= self._next_changes:
            self._pass(requests, now)
        metrics.BRIDGE_LAG.set(self._clock() - self._read_at)
        self._answer_question()
        return POLL_SECONDS

    def handle_failure(self, error: Exception) -> float:
        metrics.BRIDGE_LAG.set(self._clock() - self._read_at)
        if isinstance(error, (DocumentLeaseLost, errors.VersionConflict)):
            LOG.warning("Another bridge has taken over")
            self._is_active = False
            metrics.BRIDGE_ACTIVE.set(0)
            return WAITING_SECONDS
        if isinstance(error, (errors.Unavailable, SQLAlchemyError)):
            (LOG.debug if self._failing else LOG.warning)("Hosts stay unchanged: %s", databases.first_line(error))
            self._failing = True
        else:
            LOG.exception("Bridge pass failed")
        self._next_everything = 0.0
        return min(self._interval_s, WAITING_SECONDS)

    def finish(self) -> None:
        if self._is_active:
            with contextlib.suppress(errors.Unavailable):  # otherwise the lease expires
                self._lease.release({})
            self._is_active = False

    def _acquire(self) -> bool:
        self._is_active = self._lease.acquire(dict) is not None
        metrics.BRIDGE_ACTIVE.set(self._is_active)
        if not self._is_active:
            return False
        LOG.info("Reading Nova's databases")
        self._next_changes = self._next_everything = 0.0
        self._read_at = self._clock()
        return True

    def _pass(self, requests: int, now: float) -> None:
        everything = now >= self._next_everything
        if everything:
            self._bridge.take_over()
        self._bridge.run_pass(everything=everything)
        if self._failing:
            LOG.info("Nova's databases can be read again")
        self._requests, self._failing = requests, False
        self._read_at = now
        self._next_changes = now + self._interval_s
        if everything:
            self._next_everything = now + self._full_interval_s
