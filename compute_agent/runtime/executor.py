# SPDX-License-Identifier: Apache-2.0
"""Serial queues, each running one job at a time in order, on a few shared threads."""

import sched
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rpcapi.background import BackgroundLoop
from rpcapi.messaging.thread_pool import ThreadPool

Job = Callable[[], object]

NEVER = 3600.0  # seconds to wait without a timer; a new timer ends the wait


class JobTimer(Protocol):
    def cancel(self) -> None:
        """Drop the job unless it has started."""


class SerialQueue(Protocol):
    def submit(self, job: Job) -> None:
        """Append a job."""

    def submit_after(self, seconds: float, job: Job) -> JobTimer:
        """Append a job after ``seconds``."""


@dataclass(slots=True)
class _PooledTimer:
    job: Job | None

    def cancel(self) -> None:
        self.job = None


class _PooledQueue:
    def __init__(self, pool: "SerialQueuePool") -> None:
        self._pool = pool
        self.jobs: deque[Job] = deque()  # the first job is running or about to run

    def submit(self, job: Job) -> None:
        self._pool.submit(self, job)

    def submit_after(self, seconds: float, job: Job) -> _PooledTimer:
        return self._pool.submit_after(seconds, self, job)


class CancellableQueue:
    """View of a shared serial queue; ``end`` drops only the jobs submitted through it."""

    def __init__(self, queue: SerialQueue) -> None:
        self._lane = queue
        self._ended = False

    def submit(self, job: Job) -> None:
        self._lane.submit(lambda: self._run_unless_cancelled(job))

    def submit_after(self, seconds: float, job: Job) -> JobTimer:
        return self._lane.submit_after(seconds, lambda: self._run_unless_cancelled(job))

    def end(self) -> None:
        self._ended = True

    def _run_unless_cancelled(self, job: Job) -> None:
        if not self._ended:
            job()


class _Clock(BackgroundLoop):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.timers = sched.scheduler(time.monotonic)

    def run_once(self) -> float:
        pause = self.timers.run(blocking=False)
        return NEVER if pause is None else pause


class SerialQueuePool:
    """Pool of serial queues on at most ``threads`` threads, started on demand, and a timer thread."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPool(threads, name)
        self._clock = _Clock(f"{name} clock")
        self._clock.start()
        self._changed = threading.Condition()
        self._busy = 0  # number of queues with jobs
        self._drops = False
        self._is_closed = False

    def new_queue(self) -> SerialQueue:
        return _PooledQueue(self)

    def submit(self, queue: _PooledQueue, job: Job) -> None:
        """Append a job to a queue; no effect once the pool is closed and idle."""
        with self._changed:
            if self._is_closed:
                return
            queue.jobs.append(job)
            if len(queue.jobs) == 1:
                try:
                    self._threads.submit(self._run, queue)
                except RuntimeError:  # no thread can start: restore the queue
                    queue.jobs.clear()
                    raise
                self._busy += 1

    def submit_after(self, seconds: float, queue: _PooledQueue, job: Job) -> _PooledTimer:
        timer = _PooledTimer(job)
        self._clock.timers.enter(seconds, 0, self._fire, (queue, timer))
        self._clock.wake()
        return timer

    def _fire(self, queue: _PooledQueue, timer: _PooledTimer) -> None:
        if timer.job is not None:
            self.submit(queue, timer.job)

    def close(self, drop: bool = False) -> None:
        """Stop the timers, run or ``drop`` the queued jobs, and return after the last job."""
        self._drops = drop
        self._clock.stop()
        self._clock.wait()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)
            self._is_closed = True
        self._threads.shutdown()

    def _run(self, queue: _PooledQueue) -> None:
        """Run the first job of a queue, then let other queues run before its next job."""
        try:
            if not self._drops:
                queue.jobs[0]()
        finally:
            with self._changed:
                queue.jobs.popleft()
                if queue.jobs:
                    self._threads.submit(self._run, queue)
                else:
                    self._busy -= 1
                    self._changed.notify_all()
