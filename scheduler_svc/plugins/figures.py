# SPDX-License-Identifier: Apache-2.0
"""What each filter and weigher of this process has cost, and how often it failed."""

import time
from dataclasses import dataclass

FILTER, WEIGHER = "filter", "weigher"
COLUMNAR, PER_HOST = "columnar", "per-host"
EVERY = 32  # decisions of which one is measured filter by filter; what comes from outside is measured each time


@dataclass(slots=True)
class Figures:
    """Counted while the host table is held for reading, which one thread does at a time.

    ``hosts`` is how many hosts were looked at: all of the table by one that answers columns, those that were left by
    one that looks at hosts one by one.
    """

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    hosts: int = 0
    last_error: str | None = None
    form: str = COLUMNAR

    def add(self, seconds: float, hosts: int) -> None:
        """Count one look."""
        self.calls += 1
        self.seconds += seconds
        self.hosts += hosts


_KEPT: dict[tuple[str, str], Figures] = {}


def of(kind: str, name: str) -> Figures:
    """Return the figures of a "filter" or "weigher" of this name; they outlive a reload."""
    return _KEPT.setdefault((kind, name), Figures())


class Stopwatch:
    """Times what is built in, in one decision out of EVERY: to look at the time in each would cost as much as a filter.

    Used while the host table is held for reading, as Figures.
    """

    def __init__(self) -> None:
        self._decisions = 0

    def laps(self) -> "Laps | None":
        """Begin a decision; None where it is not to be measured."""
        self._decisions += 1
        return None if self._decisions % EVERY else Laps()


class Laps:
    """One decision that is measured: a lap is the time since the one before, or since it was begun."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Count for nobody what went before."""
        self._began = time.perf_counter()

    def lap(self, kind: str, name: str, hosts: int, *, count: bool) -> None:
        """Count the time since the last lap for this filter or weigher; without ``count`` for nobody."""
        now = time.perf_counter()
        if count:
            of(kind, name).add(now - self._began, hosts)
        self._began = now
