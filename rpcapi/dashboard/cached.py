# SPDX-License-Identifier: Apache-2.0
"""Values that are read again when a page needs them and they are older than an interval."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cached(Generic[Value]):
    """A value that all requests share; ``read`` gets the former value, None at first, and may return it again."""

    def __init__(self, read: Callable[[Value | None], Value], seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._lock = threading.Lock()
        self._value: Value | None = None
        self._read_at = 0.0

    def get(self) -> Value:
        """Return a value of at most the interval's age; raises what ``read`` raises, and reads again the next time."""
        with self._lock:  # others wait for the one that reads
            if self._value is None or time.monotonic() - self._read_at >= self._seconds:
                self._value = self._read(self._value)
                self._read_at = time.monotonic()
            return self._value

    def expire(self) -> None:
        """Read again at the next request."""
        with self._lock:
            self._read_at = -self._seconds
