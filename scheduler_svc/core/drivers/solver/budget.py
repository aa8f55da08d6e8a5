# SPDX-License-Identifier: Apache-2.0
"""Budget for solving a batch: work, which is independent of the machine, and seconds as a safeguard."""

import time
from collections.abc import Callable
from enum import StrEnum


class StopReason(StrEnum):
    """Limit that ended a search before its result was proven optimal."""

    WORK = "work"
    TIME = "time"


class Budget:
    """Remaining budget of one batch. A search step costs the program's number of columns."""

    def __init__(self, work: int, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._began = clock()
        self._limit_s = limit_s

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float:
        return self._limit_s - self.elapsed_s

    @property
    def stop_reason(self) -> StopReason | None:
        """Exhausted limit, or None. TIME if both limits are exhausted."""
        if self.remaining_s <= 0:
            return StopReason.TIME
        return StopReason.WORK if self._work <= 0 else None

    def take_step(self, columns: int) -> bool:
        self._work -= columns
        return self._work > 0
