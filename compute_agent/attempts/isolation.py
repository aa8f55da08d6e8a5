# SPDX-License-Identifier: Apache-2.0
"""Isolation of an agent: no service has answered it for a time in which an operator may have fenced its hosts."""

import threading
import time
from collections.abc import Callable


def seconds_since_boot() -> float:
    """Return a time that no clock change moves, and that counts while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class IsolationWatch:
    """Counts the times in which no service answered for longer than ``timeout`` seconds. Thread-safe.

    A host whose agent was isolated may have been fenced, and its instances may run elsewhere: it audits before it acts.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = seconds_since_boot) -> None:
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._last_contact = clock()
        self._ended = 0  # isolations that an answer has ended

    @property
    def count(self) -> int:
        """The number of isolations since the start, with one that lasts."""
        with self._lock:
            return self._ended + self._is_isolated()

    def note_answer(self) -> None:
        """A service has answered."""
        with self._lock:
            self._ended += self._is_isolated()
            self._last_contact = self._clock()

    def _is_isolated(self) -> bool:
        return self._clock() - self._last_contact > self._timeout
