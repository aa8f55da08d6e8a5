# SPDX-License-Identifier: Apache-2.0
"""A peer and we in alternating lots: what disturbs one disturbs the other."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab.timing import Subject, Times

LOTS = 6
Lot = Callable[[int, int], list[float]]  # (number of the first call, how many) -> the seconds that each took


@dataclass(frozen=True, slots=True)
class Measured:
    """Both sides' times."""

    theirs: Times
    ours: Times

    @property
    def ratio(self) -> float:
        """Their median over ours."""
        return self.theirs.p50_us / self.ours.p50_us


def duel(theirs: Lot, ours: Subject, *, size: int, our_size: int, tick: Callable[[], Any]) -> Measured:
    """Let both take turns LOTS times, after a first lot of each that is thrown away; who begins takes turns, too."""
    kept: dict[bool, list[float]] = {True: [], False: []}
    for lot in range(LOTS + 1):
        for is_ours in (True, False) if lot % 2 else (False, True):
            taken = _lot(ours, lot * our_size, our_size) if is_ours else theirs(lot * size, size)
            if lot:
                kept[is_ours] += taken
        tick()
    return Measured(Times(np.array(kept[False])), Times(np.array(kept[True])))


def _lot(subject: Subject, first: int, size: int) -> list[float]:
    """Time ours; the peer times itself in its own process."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        taken = []
        for number in range(first, first + size):
            began = time.perf_counter()
            subject(number)
            taken.append(time.perf_counter() - began)
        return taken
    finally:
        if collecting:
            gc.enable()
