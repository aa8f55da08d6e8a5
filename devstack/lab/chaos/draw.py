# SPDX-License-Identifier: Apache-2.0
"""Draws faults by a seed, so that all kinds are injected about equally often."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devstack.lab.chaos.faults import messages, processes, stores
from devstack.lab.chaos.faults.fault import Fault

KINDS: Mapping[str, type[Fault]] = {
    fault.KIND: fault for fault in (*processes.FAULTS, *stores.FAULTS, *messages.FAULTS)
}
IDLE_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class DrawnFault:
    """The next fault: its kind, the pause before it, for how long it lasts, and whether the callers wait meanwhile."""

    kind: str
    is_idle: bool
    pause: float
    hold: float


def draw(chance: random.Random, kinds: Sequence[str], counts: Counter[str]) -> DrawnFault:
    """Return a fault of one of the ``kinds`` that have occurred least often."""
    least = min(counts[kind] for kind in kinds)
    kind = chance.choice([kind for kind in kinds if counts[kind] == least])
    fault = KINDS[kind]
    is_idle = chance.random() < IDLE_SHARE and not fault.NEEDS_LOAD
    return DrawnFault(kind, is_idle, chance.uniform(0.1, 1.5), chance.uniform(*fault.HOLD))
