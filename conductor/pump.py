# SPDX-License-Identifier: Apache-2.0
"""Background threads of a conductor: due requests and upkeep."""

import random
import threading
from collections.abc import Callable

import oslo_messaging as messaging
from oslo_log import log

from conductor import metrics
from conductor.parts import ConductorParts, summarize_error
from conductor.stamps import PartitionStamps
from conductor.store.interface import PAGE, ConductorStore
from conductor.store.records import InstanceStatus, LeaseLost, RequestLease
from rpcapi import context, errors
from rpcapi.background import BackgroundLoop
from rpcapi.clients.served_versions import served_versions
from rpcapi.messaging.thread_pool import ThreadPool
from rpcapi.resources.claims import MAX_INSTANCES

LOG = log.getLogger(__name__)


class Pump(BackgroundLoop):
    """Worker loop of a conductor; ``wake`` makes it poll now.

    Due requests beyond the limits stay in the store for any conductor.

    Args:
        threads: Requests processed at a time.
        max_in_flight: Instances in those requests.
        max_building: Instances that all conductors may schedule or build; new requests wait above it.
        interval: Seconds between polls.
    """

    def __init__(
        self,
        store: ConductorStore,
        advance: Callable[[RequestLease], None],
        owner: str,
        *,
        threads: int,
        max_in_flight: int,
        max_building: int,
        interval: float,
    ) -> None:
        super().__init__("pump")
        self._store = store
        self._advance = advance
        self._owner = owner
        self._threads = threads
        self._pool = ThreadPool(threads, "saga")
        self._max_in_flight = max_in_flight
        self._max_building = max_building
        self._interval = interval
        self._idle = threading.Condition()
        self._busy = 0
        self._in_flight = 0  # instances with a next step
        self._more = False
        self._away = False

    def wait(self) -> None:
        """Wait until all leases are released; call after ``stop``."""
        super().wait()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy)
        self._pool.shutdown()

    def run_once(self) -> float:
        """Lease due requests, also from dead conductors, and advance each in a thread."""
        for lease in self._take():
            with self._idle:
                self._busy += 1
                self._in_flight += lease.steps
            self._pool.submit(self._work, lease)
        return self._interval

    def _take(self) -> list[RequestLease]:
        # Set before the poll, so that a thread that finishes during it triggers another poll.
        self._more = True
        free = self._threads - self._busy
        if free <= 0:
            return []
        try:
            room = self._max_in_flight - self._in_flight
            leases = self._store.take(self._owner, free, room, self._max_building)
        except errors.Unavailable as error:
            (LOG.debug if self._away else LOG.warning)("Cannot take due work from the store: %s", error)
            self._away = True
            return []
        except Exception:
            # Top level of a thread; an uncaught error would stop this conductor for good.
            LOG.exception("Cannot take due work from the store")
            return []
        self._away = False
        # Some due requests may not have fitted.
        in_flight = self._in_flight + sum(lease.steps for lease in leases)
        self._more = len(leases) == free or in_flight > self._max_in_flight - MAX_INSTANCES
        return leases

    def _work(self, lease: RequestLease) -> None:
        if lease.is_takeover:
            metrics.TAKEOVERS.inc()
        try:
            self._advance(lease)
        except LeaseLost:
            metrics.LOST_LEASES.inc()
            LOG.info("Lease lost: another conductor has taken over request %s", lease.request)
        except errors.Unavailable as error:
            LOG.warning("Request %s is postponed until its lease expires: %s", lease.request, error)
        except Exception:
            # Top level of a thread. Keep the lease: no conductor should retry before it expires.
            LOG.exception("Request %s is postponed until its lease expires", lease.request)
        finally:
            with self._idle:
                self._busy -= 1
                self._in_flight -= lease.steps
                self._idle.notify_all()
            if self._more:
                self.wake()


BINARY = "gantt-conductor"
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 1.0  # pause after a failed heartbeat; the scheduler may start later than the conductor
JITTER = 0.2  # random part of the interval, plus or minus, so that conductors do not report at once


class Upkeep(BackgroundLoop):
    """Thread of the periodic tasks; no instance depends on them."""

    def __init__(self, parts: ConductorParts, host: str, interval: float) -> None:
        super().__init__("upkeep")
        self._parts = parts
        self._stamps = PartitionStamps(parts.store, parts.clients.scheduler)
        self._host = host
        self._interval = interval
        self._failing: set[str] = set()

    def run_once(self) -> float:
        """Run all tasks; return the seconds until the next run, which are few after a failed heartbeat."""
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
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            # Warn once per outage; the next pass retries.
            (LOG.debug if task in self._failing else LOG.warning)("%s failed: %s", task, summarize_error(error))
            self._failing.add(task)
        except Exception:
            # Top level of a thread; the next pass may succeed.
            LOG.exception("%s failed", task)
        return False

    def report(self) -> None:
        """Send a heartbeat to the scheduler, which lists services."""
        ctxt, clients = context.new().with_timeout(ANSWER_SECONDS), self._parts.clients
        clients.scheduler.report_service(ctxt, BINARY, self._host, served_versions(BINARY), clients.partition)

    def exchange_stamps(self) -> None:
        """Exchange stamps, by which a partition notices that it was restored from a backup."""
        self._stamps.exchange(context.new().with_timeout(ANSWER_SECONDS))

    def count(self) -> None:
        counts = self._parts.store.counts()
        for status in InstanceStatus:
            metrics.INSTANCES.labels(status.value).set(counts.get(status.value, 0))

    def measure(self) -> None:
        """Measure the store's collections; requests are checked against the result."""
        for name, size in self._parts.bounds.observe(self._parts.store.sizes()).items():
            metrics.STORE_ENTRIES.labels(name).set(size.entries)
            metrics.STORE_BYTES.labels(name).set(size.bytes)
            metrics.STORE_BOUND.labels(name).set(size.bound)

    def purge(self) -> None:
        """Remove deleted instances and ended migrations after their retention."""
        while not self.is_stopping and self._parts.store.purge() >= PAGE:
            LOG.debug("Purged %d deleted instances or ended migrations, continuing", PAGE)
