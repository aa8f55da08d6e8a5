# SPDX-License-Identifier: Apache-2.0
"""Work of hundreds of hosts on a few threads: in each lane one job at a time, in order."""

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


class Timer(Protocol):
    """A job that waits for its time."""

    def cancel(self) -> None:
        """Forget the job, if it has not begun."""


class Lane(Protocol):
    """Where one host's jobs are done, one after the other."""

    def submit(self, job: Job) -> None:
        """Have the job done after those that were submitted before."""

    def after(self, seconds: float, job: Job) -> Timer:
        """Submit the job in ``seconds`` from now."""


@dataclass(slots=True)
class _Timer:
    lane: "_Lane"
    job: Job | None

    def cancel(self) -> None:
        self.job = None


class _Lane:
    def __init__(self, lanes: "Lanes") -> None:
        self._lanes = lanes
        self.jobs: deque[Job] = deque()
        self.busy = False

    def submit(self, job: Job) -> None:
        self._lanes.submit(self, job)

    def after(self, seconds: float, job: Job) -> _Timer:
        return self._lanes.after(seconds, self, job)


class MortalLane:
    """A lane for one of those who share it: at that one's end its jobs are forgotten, the others' are not."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._ended = False

    def submit(self, job: Job) -> None:
        """Have the job done after those that were submitted before."""
        self._lane.submit(lambda: self._do(job))

    def after(self, seconds: float, job: Job) -> Timer:
        """Submit the job in ``seconds`` from now."""
        return self._lane.after(seconds, lambda: self._do(job))

    def end(self) -> None:
        """Do no more of these jobs; one that has begun goes on."""
        self._ended = True

    def _do(self, job: Job) -> None:
        if not self._ended:
            job()


class Lanes:
    """Lanes over at most ``threads`` threads, which come as they are needed, and one more for the timers."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._most = threads
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._clock_set = threading.Condition(lock)
        self._ready: deque[_Lane] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._working = 0
        self._closing = False
        self._clock: threading.Thread | None = None

    def lane(self) -> Lane:
        """Return a new lane."""
        return _Lane(self)

    def submit(self, lane: _Lane, job: Job) -> None:
        """Put a job at the end of a lane. While the lanes close, only what the last jobs lead to is taken."""
        with self._changed:
            self._put(lane, job)

    def after(self, seconds: float, lane: _Lane, job: Job) -> _Timer:
        """Put a job at the end of a lane in ``seconds`` from now."""
        timer = _Timer(lane, job)
        with self._changed:
            heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
            if self._clock is None and not self._closing:
                self._clock = self._begin(self._watch_clock, "clock")
            self._clock_set.notify()
        return timer

    def close(self, drop: bool = False) -> None:
        """Take no more jobs, do those that wait in the lanes (or ``drop`` them), return when the last is done."""
        with self._changed:
            self._closing = True
            self._timers.clear()
            if drop:
                self._ready.clear()
            self._changed.notify_all()
            self._clock_set.notify_all()
            threads = [*self._threads, *([self._clock] if self._clock else [])]
        for thread in threads:
            thread.join()

    def _put(self, lane: _Lane, job: Job) -> None:
        if self._closing and not self._working:
            return
        lane.jobs.append(job)
        if not lane.busy:
            self._make_ready(lane)

    def _make_ready(self, lane: _Lane) -> None:
        lane.busy = True
        self._ready.append(lane)
        if self._idle < len(self._ready) and len(self._threads) < self._most:
            self._threads.append(self._begin(self._work, str(len(self._threads))))
        self._changed.notify()

    def _begin(self, target: Callable[[], None], what: str) -> threading.Thread:
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
                lane = self._ready.popleft()
                job = lane.jobs.popleft()
                self._working += 1
            _do(job)
            with self._changed:
                self._working -= 1
                lane.busy = False
                if lane.jobs:
                    self._make_ready(lane)
                elif self._closing:
                    self._changed.notify_all()

    def _watch_clock(self) -> None:
        with self._changed:
            while not self._closing:
                now = time.monotonic()
                while self._timers and self._timers[0][0] <= now:
                    timer = heapq.heappop(self._timers)[2]
                    if timer.job is not None:
                        self._put(timer.lane, timer.job)
                self._clock_set.wait(self._timers[0][0] - now if self._timers else None)


def _do(job: Job) -> None:
    try:
        job()
    except Exception:
        # The edge of a thread that serves every host: one job's fault must not end it.
        LOG.exception("A job failed")
