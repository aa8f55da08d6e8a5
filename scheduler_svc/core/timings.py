# SPDX-License-Identifier: Apache-2.0
"""Timings and error counts per filter and weigher, in this process."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, repeat

FILTER, WEIGHER = "filter", "weigher"
COLUMNAR, PER_HOST = "columnar", "per-host"
EVERY = 32  # built-in filters and weighers are timed in one of EVERY decisions; external ones always


@dataclass(slots=True)
class PluginTimings:
    """Timings of one filter or weigher. HostTable.reading serializes updates."""

    calls: int = 0
    errors: int = 0
    seconds: float = 0.0
    hosts: int = 0  # hosts examined: all rows, or the remaining rows for a per-host plugin
    last_error: str | None = None
    form: str = COLUMNAR

    def add(self, seconds: float, hosts: int) -> None:
        self.calls += 1
        self.seconds += seconds
        self.hosts += hosts


_TIMINGS: dict[tuple[str, str], PluginTimings] = {}


def find_timings(kind: str, name: str) -> PluginTimings:
    """Return the timings of a filter or weigher. They survive reloads."""
    return _TIMINGS.setdefault((kind, name), PluginTimings())


class Laps:
    __slots__ = ("_began",)

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def begin(self) -> None:
        self._began = time.perf_counter()

    def lap(self, kind: str, name: str, hosts: int, *, count: bool) -> None:
        """End a lap and start the next. With ``count``, add its time to the filter or weigher."""
        now = time.perf_counter()
        if count:
            find_timings(kind, name).add(now - self._began, hosts)
        self._began = now


def measured_decisions() -> Iterator[bool]:
    """Yield True once in EVERY: reading the clock costs as much as a filter, so most decisions are not measured."""
    return cycle([*repeat(False, EVERY - 1), True])
