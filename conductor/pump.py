# SPDX-License-Identifier: Apache-2.0
"""Pump: polls the store for due requests and advances each in its own thread."""

import threading
from collections.abc import Callable

from oslo_log import log

from conductor import metrics
from conductor.store.interface import ConductorStore
from conductor.store.records import LeaseLost, RequestLease
from rpcapi import errors
from rpcapi.background import BackgroundLoop
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
        self._in_flight = 0  # instances with a next step, of the requests in progress
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
