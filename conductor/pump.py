# SPDX-License-Identifier: Apache-2.0
"""Takes due requests from the store and has each advanced in a thread of its own."""

import threading
from collections.abc import Callable

from oslo_log import log

from conductor import metrics
from conductor.store.interface import Store
from conductor.store.records import Lease, LeaseLost
from rpcapi import errors

LOG = log.getLogger(__name__)


class Pump:
    """At most ``threads`` requests at a time; what is due beyond that stays in the store, for any conductor."""

    def __init__(
        self,
        store: Store,
        advance: Callable[[Lease], None],
        owner: str,
        *,
        threads: int,
        interval: float,
        stopping: threading.Event,
    ) -> None:
        self._store = store
        self._advance = advance
        self._owner = owner
        self._threads = threads
        self._interval = interval
        self._stopping = stopping
        self._woken = threading.Event()
        self._idle = threading.Condition()
        self._busy = 0
        self._more = False
        self._away = False
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        """Begin to take work, what other conductors left included."""
        self._thread.start()

    def wake(self) -> None:
        """Look for work now; after a stop, this ends the wait for it."""
        self._woken.set()

    def wait(self) -> None:
        """Return when all work that was taken is given back; the stopping event must be set."""
        self.wake()
        if self._thread.ident is not None:
            self._thread.join()
        with self._idle:
            self._idle.wait_for(lambda: not self._busy)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            for lease in self._take():
                with self._idle:
                    self._busy += 1
                threading.Thread(target=self._work, args=(lease,), name="saga", daemon=True).start()
            self._woken.wait(self._interval)

    def _take(self) -> list[Lease]:
        # Said before looking, so that a thread that gets free from now on has us look again.
        self._more = True
        free = self._threads - self._busy
        if free <= 0:
            return []
        try:
            leases = self._store.take(self._owner, free)
        except errors.Unavailable as error:
            (LOG.debug if self._away else LOG.warning)("Work cannot be taken: %s", error)
            self._away = True
            return []
        except Exception:
            # The edge of a thread: without it this conductor would never again do anything.
            LOG.exception("Work cannot be taken")
            return []
        self._away = False
        self._more = len(leases) == free
        return leases

    def _work(self, lease: Lease) -> None:
        if lease.taken_over:
            metrics.TAKEOVERS.inc()
        try:
            self._advance(lease)
        except LeaseLost:
            metrics.LEASES_LOST.inc()
            LOG.info("Request %s is another conductor's now", lease.request)
        except errors.Unavailable as error:
            LOG.warning("Request %s has to wait until its lease is over: %s", lease.request, error)
        except Exception:
            # The edge of a thread. The lease is kept on purpose: nobody tries this again before it is over.
            LOG.exception("Request %s has to wait until its lease is over", lease.request)
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()
            if self._more:
                self.wake()
