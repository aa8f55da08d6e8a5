# SPDX-License-Identifier: Apache-2.0
"""Measure a subject and its baseline in alternating blocks, so that other load on the machine disturbs both equally."""

import contextlib
import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab.interruption import defer_signals

TimedSubject = Callable[[int], Any]  # called with the number of the call


@dataclass(frozen=True, slots=True)
class Times:
    """The calls' durations in seconds, in order."""

    seconds: np.ndarray

    def percentile_us(self, percent: float) -> float:
        """Return a percentile in microseconds."""
        return float(np.percentile(self.seconds, percent)) * 1e6

    @property
    def p50_us(self) -> float:
        """The median in microseconds."""
        return self.percentile_us(50)

    @property
    def p99_us(self) -> float:
        """The 99th percentile in microseconds."""
        return self.percentile_us(99)

    @property
    def per_second(self) -> float:
        """Calls per second."""
        return len(self.seconds) / float(self.seconds.sum())


def interleave(
    subjects: Mapping[str, TimedSubject],
    *,
    blocks: int,
    size: int,
    tick: Callable[[], Any] = lambda: None,
    watch: Callable[[str], contextlib.AbstractContextManager[None]] = lambda name: contextlib.nullcontext(),
) -> dict[str, Times]:
    """Call each subject ``blocks`` x ``size`` times in alternating blocks; the first block of each is discarded.

    The order of the subjects reverses after each round, and garbage collection is off until the end. ``tick`` is called
    after each round; ``watch`` is entered around each block, also the first, with the subject's name.
    """
    durations: dict[str, list[float]] = {name: [] for name in subjects}
    collecting = gc.isenabled()
    with defer_signals():  # Python discards exceptions that a signal handler raises in a finalizer
        gc.collect()
    gc.disable()
    try:
        for block in range(blocks + 1):
            order = list(subjects) if block % 2 else list(subjects)[::-1]
            for name in order:
                with watch(name):
                    block_durations = _run_block(subjects[name], block * size, size)
                if block:
                    durations[name] += block_durations
            tick()
    finally:
        if collecting:
            gc.enable()
    return {name: Times(np.array(block_durations)) for name, block_durations in durations.items()}


def _run_block(subject: TimedSubject, first: int, size: int) -> list[float]:
    durations = []
    for number in range(first, first + size):
        began = time.perf_counter()
        subject(number)
        durations.append(time.perf_counter() - began)
    return durations
