# SPDX-License-Identifier: Apache-2.0
"""A generated trace; the same for the same seed.

Batches arrive at random; most have one server, a few have many, all of one flavor; lifetimes are lognormal, so that
most servers live for minutes while long-lived servers make up most of the usage. This resembles published traces
(E. Cortez et al., "Resource Central", SOSP 2017); the numbers are rounded estimates.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from devstack.lab.replay.trace import SHORTEST_S, TraceServer

BIN_S = 300
BATCHES_PER_S = 0.17
BATCH_SIZES = ((1, 70), (2, 12), (5, 10), (20, 7), (60, 1))  # (servers, percentage)
FLAVORS = ((1, 1792, 54), (2, 3584, 20), (4, 7168, 10), (8, 14336, 10), (8, 57344, 4), (1, 768, 2))
MEDIAN_LIFETIME_S = 1_800.0
LIFETIME_SPREAD = 1.9  # the standard deviation of its logarithm
LONGEST_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class SyntheticTrace:
    """``count`` servers generated from ``seed``."""

    count: int
    seed: int = 1

    @property
    def name(self) -> str:
        """The trace's name."""
        return f"synthetic-{self.seed}"

    def servers(self) -> Iterator[TraceServer]:
        """Yield the servers, in order of arrival."""
        chance = random.Random(self.seed)
        sizes, size_shares = zip(*BATCH_SIZES, strict=True)
        flavor_shares = [share for *_, share in FLAVORS]
        remaining, number, arrival = self.count, 0, 0.0
        while remaining:
            number += 1
            arrival += chance.expovariate(BATCHES_PER_S)
            arrives = arrival - arrival % BIN_S
            size = min(remaining, chance.choices(sizes, size_shares)[0])
            vcpus, memory_mb, _ = chance.choices(FLAVORS, flavor_shares)[0]
            remaining -= size
            for _ in range(size):
                lifetime = chance.lognormvariate(math.log(MEDIAN_LIFETIME_S), LIFETIME_SPREAD)
                ends = arrives + min(LONGEST_S, max(SHORTEST_S, lifetime))
                yield TraceServer(arrives, str(number), vcpus, memory_mb, ends)
