# SPDX-License-Identifier: Apache-2.0
"""What a conductor does from time to time: signs of life, figures, and forgetting what is over."""

import random
import threading
from collections.abc import Callable

import oslo_messaging as messaging
from oslo_log import log

from conductor import metrics
from conductor.peers import sentence
from conductor.store.interface import PAGE, Store
from conductor.store.records import Status
from rpcapi import context, errors
from rpcapi.scheduler import SchedulerAPI

LOG = log.getLogger(__name__)

BINARY = "gantt-conductor"
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 1.0  # after a sign of life that nobody took: all daemons start at once, and one of them first
JITTER = 0.2  # of the interval, either way, so that conductors do not all come at once


class Upkeep:
    """One thread; nothing of it is needed for any instance to go on."""

    def __init__(
        self, store: Store, scheduler: SchedulerAPI, host: str, interval: float, stopping: threading.Event
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._host = host
        self._interval = interval
        self._stopping = stopping
        self._failing: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin, the first time at once."""
        self._thread.start()

    def wait(self) -> None:
        """Return when the last time is over; the stopping event must be set."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            told = self._try("Telling the scheduler that this conductor lives", self.report)
            self._try("Counting instances", self.count)
            self._try("Forgetting deleted instances", self.purge)
            pause = self._interval * random.uniform(1 - JITTER, 1 + JITTER)
            self._stopping.wait(pause if told else min(pause, RETRY_SECONDS))

    def _try(self, what: str, act: Callable[[], None]) -> bool:
        try:
            act()
            self._failing.discard(what)
            return True
        except (errors.GanttError, messaging.MessagingException, OSError) as error:
            # Said once an outage; it is tried again with the next turn.
            (LOG.debug if what in self._failing else LOG.warning)("%s failed: %s", what, sentence(error))
            self._failing.add(what)
        except Exception:
            # The edge of a thread: the next turn may go well.
            LOG.exception("%s failed", what)
        return False

    def report(self) -> None:
        """Tell the scheduler, which lists services, that this conductor lives."""
        self._scheduler.report_service(context.new().within(ANSWER_SECONDS), BINARY, self._host)

    def count(self) -> None:
        """Show how many instances are recorded in each status."""
        counts = self._store.counts()
        for status in Status:
            metrics.INSTANCES.labels(status.value).set(counts.get(status.value, 0))

    def purge(self) -> None:
        """Forget deleted instances, however many are due."""
        while not self._stopping.is_set() and self._store.purge() == PAGE:
            LOG.debug("Forgot %d deleted instances, going on", PAGE)
