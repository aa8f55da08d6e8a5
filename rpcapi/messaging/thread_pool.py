# SPDX-License-Identifier: Apache-2.0
"""Pool of native threads for the requests of an RPC server."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

LOG = logging.getLogger(__name__)

Job = Callable[[], Any]
JobSlot = SimpleQueue[Job | None]  # next job of a thread; None ends the thread


class ThreadPool:
    """Pool that starts a thread only if none is idle.

    The thread that became idle last gets the next job, because its data is still in the caches. oslo.messaging's pool
    grows to its maximum and wakes all threads each second, which costs a tenth of a selection (ADR 0218).
    """

    def __init__(self, max_workers: int, name: str = "rpc") -> None:
        self._max_workers = max_workers
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[JobSlot] = []
        self._backlog: deque[Job] = deque()
        self._threads: list[threading.Thread] = []
        self._is_shut_down = False

    def submit(self, work: Callable[..., Any], *args: Any) -> None:
        """Run ``work(*args)`` when a thread is free. Raises RuntimeError after shutdown or if no thread can start."""
        job = partial(work, *args)
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("the thread pool was shut down")
            if self._idle:
                self._idle.pop().put(job)
            elif len(self._threads) >= self._max_workers:
                self._backlog.append(job)
            else:
                self._start_thread(job)

    def shutdown(self, wait: bool = True) -> None:
        with self._lock:
            self._is_shut_down = True
            idle, self._idle = self._idle, []
            for slot in idle:
                slot.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _start_thread(self, job: Job) -> None:
        slot: JobSlot = SimpleQueue()
        slot.put(job)
        name = f"{self._name} {len(self._threads)}"
        thread = threading.Thread(target=self._run, args=(slot,), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can start: a thread of the pool gets the job
            if not self._threads:
                raise
            self._backlog.append(job)
        else:
            self._threads.append(thread)

    def _run(self, slot: JobSlot) -> None:
        job = slot.get()
        while job is not None:
            try:
                job()
            except BaseException:  # a job must not end its thread
                LOG.exception("A job of pool %s failed", self._name)
            job = None  # release its references before the wait
            with self._lock:
                if self._backlog:
                    job = self._backlog.popleft()
                elif self._is_shut_down:
                    return
                else:
                    self._idle.append(slot)
            job = job or slot.get()
