# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks of a conductor: heartbeat, stamps, metrics and purge."""

import random
from collections.abc import Callable

from oslo_log import log

from conductor import metrics
from conductor.collaborators import CALL_ERRORS, Conductor, summarize_error
from conductor.stamps import PartitionStamps
from conductor.store.interface import PAGE
from rpcapi import context
from rpcapi.background import BackgroundLoop
from rpcapi.clients.served_versions import served_versions
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)

BINARY = "gantt-conductor"
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 1.0  # pause after a failed heartbeat; the scheduler may start later than the conductor
JITTER = 0.2  # random part of the interval, plus or minus, so that conductors do not report at once


class MaintenanceLoop(BackgroundLoop):
    """Thread of the periodic tasks; no instance depends on them."""

    def __init__(self, conductor: Conductor, host: str, interval: float) -> None:
        super().__init__("maintenance")
        self._conductor = conductor
        self._stamps = PartitionStamps(conductor.store, conductor.clients.scheduler)
        self._host = host
        self._interval = interval
        self._failing: set[str] = set()

    def run_once(self) -> float:
        """Run all tasks; return the seconds until the next run, fewer after a failed heartbeat."""
        reported = self._try("Heartbeat to the scheduler", self.report)
        self._try("Exchange of stamps with the scheduler", self.exchange_stamps)
        self._try("Counting instances", self.count)
        self._try("Purging deleted instances", self.purge)
        self._try("Measuring the store", self.measure)
        pause = self._interval * random.uniform(1 - JITTER, 1 + JITTER)
        return pause if reported else min(pause, RETRY_SECONDS)

    def _try(self, task: str, act: Callable[[], None]) -> bool:
        try:
            act()
            self._failing.discard(task)
            return True
        except CALL_ERRORS as error:
            # Warn once per outage; the next pass retries.
            (LOG.debug if task in self._failing else LOG.warning)("%s failed: %s", task, summarize_error(error))
            self._failing.add(task)
        except Exception:
            # Top level of a thread; the next pass may succeed.
            LOG.exception("%s failed", task)
        return False

    def report(self) -> None:
        """Send a heartbeat to the scheduler, which lists services."""
        ctxt, clients = context.new().with_timeout(ANSWER_SECONDS), self._conductor.clients
        clients.scheduler.report_service(ctxt, BINARY, self._host, served_versions(BINARY), clients.partition)

    def exchange_stamps(self) -> None:
        """Exchange stamps with the scheduler, which expose a partition that was restored from a backup."""
        self._stamps.exchange(context.new().with_timeout(ANSWER_SECONDS))

    def count(self) -> None:
        counts = self._conductor.store.counts()
        for status in InstanceStatus:
            metrics.INSTANCES.labels(status.value).set(counts.get(status.value, 0))

    def measure(self) -> None:
        """Measure the store's collections; new requests are checked against their sizes."""
        for name, size in self._conductor.bounds.observe(self._conductor.store.sizes()).items():
            metrics.STORE_ENTRIES.labels(name).set(size.entries)
            metrics.STORE_BYTES.labels(name).set(size.bytes)
            metrics.STORE_BOUND.labels(name).set(size.bound)

    def purge(self) -> None:
        """Remove deleted instances and ended migrations after their retention."""
        while not self.is_stopping and self._conductor.store.purge() >= PAGE:
            LOG.debug("Purged %d deleted instances or ended migrations, continuing", PAGE)
