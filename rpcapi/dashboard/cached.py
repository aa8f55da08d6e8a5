# SPDX-License-Identifier: Apache-2.0
"""Cache of a value that is read again on demand after an interval."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cached(Generic[Value]):
    """Shared value, read again after ``seconds``; other requests get the previous one during a read.

    A failure is raised to all requests for the same time, so that not every request calls a hanging service.
    """

    def __init__(self, read: Callable[[], Value], seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = threading.Lock()
        self.latest: Value | None = None
        self._failure: Exception | None = None
        self._read_at = -seconds

    def get(self) -> Value:
        previous = self.latest
        if not self._lock.acquire(blocking=previous is None):
            assert previous is not None  # noqa: S101 - otherwise it was waited for
            return previous
        try:
            if time.monotonic() - self._read_at >= self._seconds:
                self._refresh()
            if self._failure is not None:
                raise self._failure
            assert self.latest is not None  # noqa: S101 - read just now, or before
            return self.latest
        finally:
            self._lock.release()

    def _refresh(self) -> None:
        try:
            self.latest, self._failure = self._read(), None
        except Exception as failure:  # raised by get(), to all requests
            self._failure = failure
        self._read_at = time.monotonic()

    def expire(self) -> None:
        with self._lock:
            self._read_at = -self._seconds
