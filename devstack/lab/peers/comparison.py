# SPDX-License-Identifier: Apache-2.0
"""Alternating blocks of a peer's calls and gantt's, so that other load on the machine disturbs both equally."""

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from devstack.lab.timing import TimedSubject, Times

BLOCKS = 6
TimedCalls = Callable[[int, int], list[float]]  # (number of the first call, count) -> seconds of each call


@dataclass(frozen=True, slots=True)
class PeerComparison:
    """Times of the peer and of gantt."""

    peer_times: Times
    gantt_times: Times

    @property
    def ratio(self) -> float:
        """The peer's median divided by gantt's."""
        return self.peer_times.p50_us / self.gantt_times.p50_us


def interleave_with_peer(
    peer_calls: TimedCalls, subject: TimedSubject, *, size: int, gantt_size: int, tick: Callable[[], Any]
) -> PeerComparison:
    """Measure BLOCKS alternating blocks after a discarded first block of each; the starting side alternates too."""
    sides: dict[str, tuple[TimedCalls, int]] = {
        "gantt": (partial(_run_block, subject), gantt_size),
        "peer": (peer_calls, size),
    }
    times = alternate(sides, blocks=BLOCKS, tick=tick)
    return PeerComparison(times["peer"], times["gantt"])


def alternate(
    subjects: Mapping[str, tuple[TimedCalls, int]], *, blocks: int, tick: Callable[[], Any]
) -> dict[str, Times]:
    """Measure ``blocks`` blocks of each subject in turns, after a discarded first one; the order reverses each time.

    A subject is the function that makes and times its calls, and the number of calls of a block.
    """
    durations: dict[str, list[float]] = {name: [] for name in subjects}
    for block in range(blocks + 1):
        for name in list(subjects) if block % 2 else list(subjects)[::-1]:
            calls, size = subjects[name]
            block_durations = calls(block * size, size)
            if block:
                durations[name] += block_durations
        tick()
    return {name: Times(np.array(seconds)) for name, seconds in durations.items()}


def _run_block(subject: TimedSubject, first: int, size: int) -> list[float]:
    """Time gantt's calls; the peer times its own in its process."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        durations = []
        for number in range(first, first + size):
            began = time.perf_counter()
            subject(number)
            durations.append(time.perf_counter() - began)
        return durations
    finally:
        if collecting:
            gc.enable()
