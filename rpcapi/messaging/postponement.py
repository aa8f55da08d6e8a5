# SPDX-License-Identifier: Apache-2.0
"""Postponed calls, which occupy no thread of their server while they wait."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

import oslo_messaging as messaging

LOG = logging.getLogger(__name__)

LINGER_S = 60.0  # seconds without jobs after which the timer thread ends
MIN_SWEEP = 64  # jobs; a shorter heap may consist of obsolete jobs only
Job = Callable[[], None]


class CallPostponed(Exception):
    """Raised to run a call again later, or to answer ``failure`` if the caller cannot wait longer."""

    def __init__(self, failure: messaging.ExpectedException) -> None:
        super().__init__(str(failure.exc_info[1]))
        self.failure = failure


class DelayedJobs:
    """Timer that runs short jobs, all in one thread."""

    def __init__(self, linger_s: float = LINGER_S, name: str = "delayed jobs") -> None:
        self._linger_s = linger_s
        self._name = name
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Job, Callable[[], bool]]] = []  # heap by time
        self._sweep_size = MIN_SWEEP  # length of the heap at which obsolete jobs are removed
        self._numbers = itertools.count()  # tie-breaker: jobs are not comparable
        self._is_waiting = False
        self._is_running = False  # the thread runs a job
        self._is_closed = False

    def add(self, job: Job, seconds: float, is_obsolete: Callable[[], bool] = lambda: False) -> bool:
        """Run ``job`` after ``seconds`` unless it is obsolete.

        Return False, and never run it, after ``close`` or if the timer's thread cannot be started.
        """
        with self._changed:
            if self._is_closed:
                return False
            if not self._is_waiting:
                try:
                    threading.Thread(target=self._wait, name=self._name, daemon=True).start()
                except RuntimeError as error:  # no thread can start now; the next job may succeed
                    LOG.warning("Cannot start the thread for %s: %s", self._name, error)
                    return False
                self._is_waiting = True
            if len(self._due) >= self._sweep_size:
                self._due = [waiting for waiting in self._due if not waiting[3]()]
                heapq.heapify(self._due)
                self._sweep_size = max(MIN_SWEEP, 2 * len(self._due))
            entry = (time.monotonic() + seconds, next(self._numbers), job, is_obsolete)
            heapq.heappush(self._due, entry)
            if self._due[0] is entry:
                self._changed.notify()
        return True

    def close(self) -> None:
        """Stop accepting jobs and run all waiting jobs now; return when the last job has ended."""
        with self._changed:
            self._is_closed = True
            jobs = [job for _, _, job, _ in sorted(self._due)]
            self._due.clear()
            self._changed.notify_all()
        for job in jobs:
            _run(job)
        with self._changed:
            self._changed.wait_for(lambda: not self._is_running)

    def _wait(self) -> None:
        while (job := self._next_due()) is not None:
            _run(job)
            with self._changed:
                self._is_running = False
                self._changed.notify_all()

    def _next_due(self) -> Job | None:
        """Wait for the next due job; return None after ``linger_s`` without jobs, or when closed."""
        with self._changed:
            while True:
                while self._due and self._due[0][3]():
                    heapq.heappop(self._due)
                if not self._due:
                    if self._is_closed or (not self._changed.wait(self._linger_s) and not self._due):
                        self._is_waiting = False
                        return None
                    continue
                remaining = self._due[0][0] - time.monotonic()
                if remaining <= 0:
                    self._is_running = True
                    return heapq.heappop(self._due)[2]
                self._changed.wait(remaining)


def _run(job: Job) -> None:
    try:
        job()
    except Exception:  # keep the thread for later jobs
        LOG.exception("A delayed job failed")
