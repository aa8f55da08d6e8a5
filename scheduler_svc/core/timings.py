# SPDX-License-Identifier: Apache-2.0
"""Timings and error counts of each filter and weigher in this process."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, repeat

FILTER, WEIGHER = "filter", "weigher"
COLUMNAR, PER_HOST = "columnar", "per-host"
EVERY = 32  # one decision in this many measures each built-in filter and weigher; external ones are always measured


@dataclass(slots=True)
class PluginTimings:
    """The timings of one filter or weigher. Updated within HostTable.reading, by one thread at a time.

    ``hosts`` is the number of hosts examined: all rows of the table for a columnar plugin, the remaining hosts for a
    per-host one.
    """

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    hosts: int = 0
    last_error: str | None = None
    form: str = COLUMNAR

    def add(self, seconds: float, hosts: int) -> None:
        """Add one call."""
        self.calls += 1
        self.seconds += seconds
        self.hosts += hosts


_TIMINGS: dict[tuple[str, str], PluginTimings] = {}


def find_timings(kind: str, name: str) -> PluginTimings:
    """Return the timings of the "filter" or "weigher" of this name; they are kept across reloads."""
    return _TIMINGS.setdefault((kind, name), PluginTimings())


class Laps:
    """The lap timer of one measured decision: a lap is the time since the previous lap or the last ``begin``."""

    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Reset the lap timer."""
        self._began = time.perf_counter()

    def lap(self, kind: str, name: str, hosts: int, *, count: bool) -> None:
        """End a lap; with ``count`` its time is added to this filter or weigher, else discarded."""
        now = time.perf_counter()
        if count:
            find_timings(kind, name).add(now - self._began, hosts)
        self._began = now


def measured_decisions() -> Iterator[bool]:
    """Return an endless iterator that is true for one decision out of EVERY: clock reads cost as much as a filter."""
    return cycle([*repeat(False, EVERY - 1), True])
