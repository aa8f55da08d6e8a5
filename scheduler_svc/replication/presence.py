# SPDX-License-Identifier: Apache-2.0
"""Availability of a partition's store, as this worker observes it."""

import math
import time
from collections.abc import Callable


class Presence:
    """Records answers and failures of one partition's store; thread-safe.

    A store counts as away until its first answer. A store that answers at the first call counts as always available.
    """

    __slots__ = ("_changed_at", "_clock", "_had_outage", "_last_contact", "away")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed_at = self._last_contact = -math.inf
        self._had_outage = False
        self.away = True

    def record_answer(self) -> None:
        """Record that the store answered."""
        self._last_contact = self._clock()
        if self.away:
            self._changed_at = self._clock() if self._had_outage else -math.inf
            self.away = False

    def record_failure(self) -> None:
        """Record that the store did not answer."""
        if not self.away or not self._had_outage:
            self._changed_at, self._had_outage = self._clock(), True
        self.away = True

    @property
    def silent_s(self) -> float:
        """Seconds since the store's last answer; infinite before the first."""
        return self._clock() - self._last_contact

    @property
    def steady_s(self) -> float:
        """Seconds for which the store has answered without interruption; 0 while it is away."""
        return 0.0 if self.away else self._clock() - self._changed_at

    @property
    def away_s(self) -> float:
        """Seconds since the start of the current outage; 0 while the store answers, and before the first call."""
        return self._clock() - self._changed_at if self.away and self._had_outage else 0.0
