# SPDX-License-Identifier: Apache-2.0
"""Time limit of a query for allocation candidates."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rpcapi.resources.trees.search import StepBudget
from scheduler_svc.placement.model.problems import Problem

SEARCH_SHARE = 0.5  # share of the time for the search
REQUESTS_SHARE = 0.8  # share of the time for searching and writing candidates; the rest is for provider summaries
STEPS_BETWEEN_CHECKS = 256

T = TypeVar("T")


class Deadline:
    """Time limit of a query: ``timeout_s`` after construction. ``clock`` returns seconds."""

    def __init__(self, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self._start = clock()

    def search_steps(self) -> "TimedSteps":
        """Return the search's step budget, which leaves time to write the results."""
        return TimedSteps(self._clock, self._start + self.timeout_s * SEARCH_SHARE)

    def require(self) -> None:
        if self._is_past(1.0):
            raise self.problem()

    def requests_in_time(self, items: Iterable[T], *, may_end: bool) -> Iterator[T]:
        """Yield items for REQUESTS_SHARE of the time; then stop if ``may_end``, or raise Problem 503."""
        for number, item in enumerate(items):
            if number % STEPS_BETWEEN_CHECKS == 0 and self._is_past(REQUESTS_SHARE):
                if may_end and number:
                    return
                raise self.problem()
            yield item

    def _is_past(self, share: float) -> bool:
        return self._clock() > self._start + self.timeout_s * share

    def problem(self) -> Problem:
        return Problem(
            503,
            f"The search for allocation candidates was stopped: no answer was possible within {self.timeout_s:g} s. "
            "Request fewer with limit, or be more specific.",
        )


class TimedSteps(StepBudget):
    """Step budget limited by a time instead of a number of steps."""

    __slots__ = ("_clock", "_end")

    def __init__(self, clock: Callable[[], float], end: float) -> None:
        super().__init__(sys.maxsize)
        self._clock = clock
        self._end = end

    def consume(self) -> bool:
        if self.remaining % STEPS_BETWEEN_CHECKS == 0:
            self.check()
        return super().consume()

    def check(self) -> bool:
        if self._clock() > self._end:
            self.remaining = -1
        return not self.exhausted
