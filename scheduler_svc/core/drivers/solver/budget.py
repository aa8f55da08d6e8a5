# SPDX-License-Identifier: Apache-2.0
"""How much a batch may cost to solve: work, which is the same on every machine, and seconds as a guard."""

import time
from collections.abc import Callable
from enum import StrEnum


class Cut(StrEnum):
    """What ended a search before its result was proven the best."""

    WORK = "work"
    TIME = "time"


class Budget:
    """What is left of the limits of one batch, for searches one after the other.

    Work is the number of steps of a search times the columns of its program. HiGHS asks once in a step whether to go
    on, about once for each relaxation that it solves, and a relaxation takes time by its size.
    """

    def __init__(self, work: int, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._began = clock()
        self._limit_s = limit_s

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def remaining_s(self) -> float:
        """Seconds that are left."""
        return self._limit_s - self.elapsed_s

    @property
    def cut(self) -> Cut | None:
        """The limit that is reached; time, if both are."""
        if self.remaining_s <= 0:
            return Cut.TIME
        return Cut.WORK if self._work <= 0 else None

    def take_step(self, columns: int) -> bool:
        """Take the work of one step; return whether there was enough left to go on."""
        self._work -= columns
        return self._work > 0
