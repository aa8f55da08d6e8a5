# SPDX-License-Identifier: Apache-2.0
"""Heartbeats to callers of monitored calls."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger(__name__)

LINGER_S = 60.0  # idle time until the waiting thread ends


class _MonitoredCall:
    def __init__(self, incoming: Any, interval_s: float) -> None:
        self._incoming = incoming
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._beats: tuple[threading.Thread, threading.Event] | None = None  # the event means that the call ended
        self.has_ended = False

    def begin_heartbeats(self) -> None:
        with self._lock:
            if self.has_ended:
                return
            ended = threading.Event()
            thread = threading.Thread(target=self._beat, args=(ended,), name="heartbeats", daemon=True)
            self._beats = thread, ended
            thread.start()

    def end(self) -> None:
        with self._lock:
            self.has_ended = True
        if self._beats is not None:
            thread, ended = self._beats
            ended.set()
            thread.join()

    def _beat(self, ended: threading.Event) -> None:
        try:
            while not ended.is_set():
                self._incoming.heartbeat()
                ended.wait(self._interval_s)
        except Exception as error:
            # The bus or the caller is gone. A caller that still waits will time out.
            LOG.debug("Heartbeats ended: %s", error)


class Heartbeats:
    """Sender of heartbeats, two per monitor timeout of a call.

    One thread waits for all calls. Only a call whose first heartbeat is due gets its own, because a thread per call
    takes a fifth of a short call's time.
    """

    def __init__(self, linger_s: float = LINGER_S) -> None:
        self._linger_s = linger_s
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, _MonitoredCall]] = []  # heap by time of the first heartbeat
        self._numbers = itertools.count()  # tie-breaker, because calls are not comparable
        self._is_waiting = False

    @contextmanager
    def to_caller_of(self, incoming: Any) -> Iterator[None]:
        """Send heartbeats inside the block; ``client_timeout`` must be at least 2 s."""
        interval_s = int(incoming.client_timeout) / 2
        call = _MonitoredCall(incoming, interval_s)
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + interval_s, next(self._numbers), call))
            if not self._is_waiting:
                self._is_waiting = True
                threading.Thread(target=self._wait, name="first heartbeats", daemon=True).start()
            elif self._due[0][2] is call:
                self._changed.notify()
        try:
            yield
        finally:
            call.end()

    def _wait(self) -> None:
        while (call := self._next_due()) is not None:
            try:
                call.begin_heartbeats()
            except RuntimeError as error:  # no thread can start now; the next call may succeed
                LOG.warning("Sending no heartbeats for a call: %s", error)

    def _next_due(self) -> _MonitoredCall | None:
        """Return the next call when its first heartbeat is due; None after a linger time without calls."""
        with self._changed:
            while True:
                while self._due and self._due[0][2].has_ended:
                    heapq.heappop(self._due)
                if not self._due:
                    if not self._changed.wait(self._linger_s) and not self._due:
                        self._is_waiting = False
                        return None
                    continue
                remaining = self._due[0][0] - time.monotonic()
                if remaining <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(remaining)
