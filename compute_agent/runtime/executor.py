# SPDX-License-Identifier: Apache-2.0
"""Serial queues: each runs one job at a time, in order; hundreds of them share a few threads."""

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from oslo_log import log

LOG = log.getLogger(__name__)

Job = Callable[[], object]


class JobTimer(Protocol):
    """A job that is due at a later time."""

    def cancel(self) -> None:
        """Drop the job, unless it has started."""


class SerialQueue(Protocol):
    """Runs the jobs of one host one after the other."""

    def submit(self, job: Job) -> None:
        """Append a job to the queue."""

    def submit_after(self, seconds: float, job: Job) -> JobTimer:
        """Append a job to the queue in ``seconds`` from now."""


@dataclass(slots=True)
class _PooledTimer:
    queue: "_PooledQueue"
    job: Job | None

    def cancel(self) -> None:
        self.job = None


class _PooledQueue:
    def __init__(self, pool: "SerialQueuePool") -> None:
        self._pool = pool
        self.jobs: deque[Job] = deque()
        self.busy = False

    def submit(self, job: Job) -> None:
        self._pool.submit(self, job)

    def submit_after(self, seconds: float, job: Job) -> _PooledTimer:
        return self._pool.submit_after(seconds, self, job)


class CancellableQueue:
    """A user's view of a shared serial queue: ``end`` drops the jobs of this user only."""

    def __init__(self, queue: SerialQueue) -> None:
        self._lane = queue
        self._ended = False

    def submit(self, job: Job) -> None:
        """Append a job to the queue."""
        self._lane.submit(lambda: self._run_unless_cancelled(job))

    def submit_after(self, seconds: float, job: Job) -> JobTimer:
        """Append a job to the queue in ``seconds`` from now."""
        return self._lane.submit_after(seconds, lambda: self._run_unless_cancelled(job))

    def end(self) -> None:
        """Run no more jobs of this user; a job that has started goes on."""
        self._ended = True

    def _run_unless_cancelled(self, job: Job) -> None:
        if not self._ended:
            job()


class SerialQueuePool:
    """Serial queues on at most ``threads`` threads, started on demand, and one more thread for timers."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._max_threads = threads
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._timers_changed = threading.Condition(lock)
        self._ready: deque[_PooledQueue] = deque()
        self._timers: list[tuple[float, int, _PooledTimer]] = []
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._working = 0
        self._closing = False
        self._clock: threading.Thread | None = None

    def new_queue(self) -> SerialQueue:
        """Return a new serial queue."""
        return _PooledQueue(self)

    def submit(self, queue: _PooledQueue, job: Job) -> None:
        """Append a job to a queue. While the pool closes, only jobs submitted by running jobs are accepted."""
        with self._changed:
            self._put(queue, job)

    def submit_after(self, seconds: float, queue: _PooledQueue, job: Job) -> _PooledTimer:
        """Append a job to a queue in ``seconds`` from now."""
        timer = _PooledTimer(queue, job)
        with self._changed:
            heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
            if self._clock is None and not self._closing:
                self._clock = self._start_thread(self._run_timers, "clock")
            self._timers_changed.notify()
        return timer

    def close(self, drop: bool = False) -> None:
        """Accept no more jobs, run the queued ones (or ``drop`` them), and return when the last has finished."""
        with self._changed:
            self._closing = True
            self._timers.clear()
            if drop:
                self._ready.clear()
            self._changed.notify_all()
            self._timers_changed.notify_all()
        for thread in self._threads:  # a job that still runs may start one more, which this loop reaches
            thread.join()
        if self._clock:
            self._clock.join()

    def _put(self, queue: _PooledQueue, job: Job) -> None:
        if self._closing and not self._working:
            return
        queue.jobs.append(job)
        if not queue.busy:
            self._make_ready(queue)

    def _make_ready(self, queue: _PooledQueue) -> None:
        queue.busy = True
        self._ready.append(queue)
        if self._idle < len(self._ready) and len(self._threads) < self._max_threads:
            self._threads.append(self._start_thread(self._work, str(len(self._threads))))
        self._changed.notify()

    def _start_thread(self, target: Callable[[], None], what: str) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"{self._name}-{what}", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._ready:
                    if self._closing and not self._working:
                        self._changed.notify_all()
                        return
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                queue = self._ready.popleft()
                job = queue.jobs.popleft()
                self._working += 1
            _run_job(job)
            with self._changed:
                self._working -= 1
                queue.busy = False
                if queue.jobs:
                    self._make_ready(queue)
                elif self._closing:
                    self._changed.notify_all()

    def _run_timers(self) -> None:
        with self._changed:
            while not self._closing:
                now = time.monotonic()
                while self._timers and self._timers[0][0] <= now:
                    timer = heapq.heappop(self._timers)[2]
                    if timer.job is not None:
                        self._put(timer.queue, timer.job)
                self._timers_changed.wait(self._timers[0][0] - now if self._timers else None)


def _run_job(job: Job) -> None:
    try:
        job()
    except Exception:
        # The thread serves every host: a failing job must not end it.
        LOG.exception("A job failed")
