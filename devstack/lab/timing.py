# SPDX-License-Identifier: Apache-2.0
"""Alternating blocks of a subject and its baseline, so that other load on the machine disturbs both equally."""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

KeyT = TypeVar("KeyT")
TimedSubject = Callable[[int], Any]  # called with the number of the call
TimedCalls = Callable[[int, int], list[float]]  # (number of the first call, count) -> seconds of each call


@dataclass(frozen=True)
class Times:
    """Durations of calls in seconds, in order."""

    seconds: np.ndarray

    @property
    def calls(self) -> int:
        return len(self.seconds)

    def percentile(self, percent: float) -> float:
        """Return a percentile in seconds, 0 without calls."""
        return float(np.percentile(self.seconds, percent)) if self.calls else 0.0

    @property
    def p50_us(self) -> float:
        return 1e6 * self.percentile(50)

    @property
    def p99_us(self) -> float:
        return 1e6 * self.percentile(99)

    @property
    def per_second(self) -> float:
        return self.calls / float(self.seconds.sum())

    def microseconds(self, prefix: str = "") -> dict[str, float]:
        return {f"{prefix}p50_us": self.p50_us, f"{prefix}p99_us": self.p99_us}

    def milliseconds(self, prefix: str = "") -> dict[str, float]:
        return {f"{prefix}p50_ms": self.p50_us / 1e3, f"{prefix}p99_ms": self.p99_us / 1e3}


def record_times(records: Sequence[Any]) -> Times:
    return Times(np.array([(record.updated_ms - record.created_ms) / 1e3 for record in records]))


def record_span(records: Sequence[Any]) -> float:
    """Return the seconds from the first creation to the last update, at least a millisecond."""
    begin, end = min(record.created_ms for record in records), max(record.updated_ms for record in records)
    return float(max(1, end - begin)) / 1e3


def interleave(
    subjects: Mapping[str, TimedSubject],
    *,
    blocks: int,
    size: int,
    watch: Callable[[str], contextlib.AbstractContextManager[None]] = lambda name: contextlib.nullcontext(),
) -> dict[str, Times]:
    """Time subjects in alternating blocks without garbage collection; ``watch`` wraps every block."""

    def calls_of(name: str) -> TimedCalls:
        def calls(first: int, count: int) -> list[float]:
            with watch(name):
                return timed(subjects[name], first, count)

        return calls

    with without_collection():
        return alternate({name: (calls_of(name), size) for name in subjects}, blocks=blocks)


def alternate(subjects: Mapping[str, tuple[TimedCalls, int]], *, blocks: int) -> dict[str, Times]:
    """Time ``blocks`` blocks of each subject (timed calls, calls per block) after a discarded first block."""
    durations: dict[str, list[float]] = {name: [] for name in subjects}
    for block, name in take_turns(list(subjects), blocks + 1):
        calls, size = subjects[name]
        block_durations = calls(block * size, size)
        if block:
            durations[name] += block_durations
    return {name: Times(np.array(seconds)) for name, seconds in durations.items()}


def take_turns(subjects: Sequence[KeyT], rounds: int) -> Iterator[tuple[int, KeyT]]:
    """Yield (round, subject); the order of the subjects reverses after each round."""
    for number in range(rounds):
        for subject in subjects if number % 2 else subjects[::-1]:
            yield number, subject


def timed(subject: TimedSubject, first: int, count: int) -> list[float]:
    durations = []
    for number in range(first, first + count):
        began = time.perf_counter()
        subject(number)
        durations.append(time.perf_counter() - began)
    return durations


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disable the garbage collector inside the block, then restore its state."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
