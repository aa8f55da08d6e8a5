# SPDX-License-Identifier: Apache-2.0
"""Measure a subject and its floor in alternating lots, so that a noisy neighbour disturbs both alike."""

import contextlib
import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab.interruption import held_back

Subject = Callable[[int], Any]  # is given the number of the call


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
        """How many calls a second these were."""
        return len(self.seconds) / float(self.seconds.sum())


def interleave(
    subjects: Mapping[str, Subject],
    *,
    lots: int,
    size: int,
    tick: Callable[[], Any] = lambda: None,
    watch: Callable[[str], contextlib.AbstractContextManager[None]] = lambda name: contextlib.nullcontext(),
) -> dict[str, Times]:
    """Call each subject ``lots`` x ``size`` times in alternating lots; the first lot of each is thrown away.

    The order within a pair of lots turns round each time, and the collector of garbage waits until the end.
    ``tick`` is called after each pair; ``watch`` is entered round each lot, also the first, with the subject's name.
    """
    kept: dict[str, list[float]] = {name: [] for name in subjects}
    collecting = gc.isenabled()
    with held_back():  # what a signal raises in a finalizer, Python drops: the lab would go on
        gc.collect()
    gc.disable()
    try:
        for lot in range(lots + 1):
            order = list(subjects) if lot % 2 else list(subjects)[::-1]
            for name in order:
                with watch(name):
                    taken = _lot(subjects[name], lot * size, size)
                if lot:
                    kept[name] += taken
            tick()
    finally:
        if collecting:
            gc.enable()
    return {name: Times(np.array(taken)) for name, taken in kept.items()}


def _lot(subject: Subject, first: int, size: int) -> list[float]:
    taken = []
    for number in range(first, first + size):
        began = time.perf_counter()
        subject(number)
        taken.append(time.perf_counter() - began)
    return taken
