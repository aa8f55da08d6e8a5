# SPDX-License-Identifier: Apache-2.0
"""Heartbeats to callers of monitored calls."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rpcapi.messaging.postponement import LINGER_S, DelayedJobs

LOG = logging.getLogger(__name__)


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
            try:
                thread.start()
            except RuntimeError as error:  # no thread can start now; the next call may succeed
                LOG.warning("Sending no heartbeats for a call: %s", error)
            else:
                self._beats = thread, ended

    def end(self) -> None:
        with self._lock:
            self.has_ended = True
        if self._beats is not None:
            thread, ended = self._beats
            ended.set()
            thread.join()
        self._incoming = None  # the timer refers to the call until its first heartbeat would be due

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

    Only a call whose first heartbeat is due gets a thread, because a thread per call takes a fifth of a short call's
    time.
    """

    def __init__(self, linger_s: float = LINGER_S) -> None:
        self._timer = DelayedJobs(linger_s, "first heartbeats")

    @contextmanager
    def to_caller_of(self, incoming: Any) -> Iterator[None]:
        """Send heartbeats inside the block, if threads can start; ``client_timeout`` must be at least 2 s."""
        interval_s = int(incoming.client_timeout) / 2
        call = _MonitoredCall(incoming, interval_s)
        self._timer.add(call.begin_heartbeats, interval_s, lambda: call.has_ended)
        try:
            yield
        finally:
            call.end()
