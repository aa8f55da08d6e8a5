# SPDX-License-Identifier: Apache-2.0
"""Alternating blocks of a peer's calls and gantt's, so that other load on the machine disturbs both equally."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
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
    durations: dict[bool, list[float]] = {True: [], False: []}
    for block in range(BLOCKS + 1):
        for is_gantt in (True, False) if block % 2 else (False, True):
            block_durations = (
                _run_block(subject, block * gantt_size, gantt_size) if is_gantt else peer_calls(block * size, size)
            )
            if block:
                durations[is_gantt] += block_durations
        tick()
    return PeerComparison(Times(np.array(durations[False])), Times(np.array(durations[True])))


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
