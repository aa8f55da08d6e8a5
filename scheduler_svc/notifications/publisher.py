# SPDX-License-Identifier: Apache-2.0
"""Publisher of a partition's log: at least once, in order, by one worker at a time."""

import contextlib
from collections.abc import Collection, Mapping
from typing import Any

from oslo_log import log

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from scheduler_svc import metrics
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.notifications import changes
from scheduler_svc.notifications.changes import HostStateChange
from scheduler_svc.notifications.sender import NotificationSender
from scheduler_svc.store.interface import Store
from scheduler_svc.store.lease import DocumentLease

LOG = log.getLogger(__name__)

VERSION = "1.0"  # Version of the payload's format.
BATCH = 200  # changes published per renewal of the lease, and the maximum that a successor publishes again
BLOCK_MS = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0


class NotificationPublisher(BackgroundLoop):
    """Thread that publishes a partition's log while it holds the lease; closes ``store`` and ``sender`` at its end."""

    def __init__(self, store: Store, lease: DocumentLease, sender: NotificationSender, kinds: Collection[str]) -> None:
        super().__init__(f"notifications {store.partition}")
        self._store = store
        self._lease = lease
        self._sender = sender
        self._kinds = frozenset(kinds)
        self._published: LogPosition | None = None  # None while this worker does not have the lease
        self._pause = FIRST_PAUSE  # seconds to wait after the next failure

    def step(self, block_ms: int) -> bool:
        """Publish new changes, waiting up to ``block_ms``; return False if another worker has the lease.

        Raises StoreUnavailable, and Unavailable if sending fails. Either way the position sent so far is recorded, if
        the store answers.
        """
        if self._published is None:
            recorded = self._lease.acquire(self._start_position)
            if recorded is None:
                return False
            self._published = LogPosition(recorded["epoch"], recorded["position"])
            LOG.info("Publishing changes of partition %s after %d", self._store.partition, self._published.position)
        sent = False
        try:
            page = changes.read(self._store, *self._published, self._kinds, BATCH, block_ms=block_ms)
            for change in page.changes:
                if not self._lease.is_valid and not self._lease.renew(self._published._asdict()):
                    return self._stop_publishing()
                self._notify(change)
                self._published, sent = LogPosition(change.epoch, change.position), True
            self._published = LogPosition(page.epoch, page.position)
        finally:
            if (
                self._published is not None
                and (sent or self._lease.renewal_due)
                and not self._lease.renew(self._published._asdict())
            ):
                self._stop_publishing()
        return self._published is not None

    def _start_position(self) -> Mapping[str, Any]:
        """Send a resync, so that listeners read everything; return its position."""
        change = changes.resync(self._store, "publishing has started")
        self._notify(change)
        return LogPosition(change.epoch, change.position)._asdict()

    def _notify(self, change: HostStateChange) -> None:
        partition = self._store.partition
        self._sender.send(f"host_state.{change.kind}", {"version": VERSION, "partition": partition, **change._asdict()})
        metrics.NOTIFICATIONS.labels(partition=partition, kind=change.kind).inc()

    def _stop_publishing(self) -> bool:
        LOG.warning("Lease lost: another worker now publishes the changes of partition %s", self._store.partition)
        self._published = None
        return False

    def run_once(self) -> float:
        """Publish new changes; return the pause until the next run, 0 with the lease."""
        is_publishing = self.step(BLOCK_MS)
        self._pause = FIRST_PAUSE
        return 0.0 if is_publishing else FIRST_PAUSE

    def handle_failure(self, error: Exception) -> float:
        """Log the failure and return a pause, after which the recorded position is read again."""
        self._published = None
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        if isinstance(error, errors.Unavailable):
            LOG.warning("Postponed publishing the changes of %s for %.1f s: %s", self._store.partition, pause, error)
        else:
            LOG.exception("Publishing the changes of %s failed; retrying in %.1f s", self._store.partition, pause)
        return pause

    def finish(self) -> None:
        """Release the lease; close the sender and the store."""
        if self._published is not None:
            with contextlib.suppress(errors.Unavailable):  # otherwise the lease expires
                self._lease.release(self._published._asdict())
        self._sender.close()
        self._store.close()
