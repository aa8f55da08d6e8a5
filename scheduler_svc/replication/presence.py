# SPDX-License-Identifier: Apache-2.0
"""Availability of a partition's store as this worker observes it."""

import math
import time
from collections.abc import Callable


class Presence:
    """Thread-safe tracker of a store's availability. The store counts as away before its first answer."""

    __slots__ = ("_changed_at", "_clock", "_had_outage", "_last_contact", "away")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed_at = self._last_contact = -math.inf
        self._had_outage = False
        self.away = True

    def record_answer(self) -> None:
        self._last_contact = self._clock()
        if self.away:
            self._changed_at = self._clock() if self._had_outage else -math.inf
            self.away = False

    def record_failure(self) -> None:
        if not self.away or not self._had_outage:
            self._changed_at, self._had_outage = self._clock(), True
        self.away = True

    @property
    def silent_s(self) -> float:
        """Seconds since the last answer; infinite before the first answer."""
        return self._clock() - self._last_contact

    @property
    def steady_s(self) -> float:
        """Seconds of uninterrupted answers; 0 while away, infinite before the first outage."""
        return 0.0 if self.away else self._clock() - self._changed_at

    @property
    def away_s(self) -> float:
        """Seconds since the current outage began; 0 while available or before the first call."""
        return self._clock() - self._changed_at if self.away and self._had_outage else 0.0
