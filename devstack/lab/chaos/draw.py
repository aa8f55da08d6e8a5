# SPDX-License-Identifier: Apache-2.0
"""Seeded draws of fault bursts, in which all kinds occur about equally often."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults import hosts, messages, processes, stores
from devstack.lab.chaos.faults.fault import Fault

KINDS: Mapping[str, type[Fault]] = {
    fault.KIND: fault for fault in (*processes.FAULTS, *hosts.FAULTS, *stores.FAULTS, *messages.FAULTS)
}
IDLE_SHARE = 0.25
PAUSE = (0.05, 0.8)


@dataclass(frozen=True, slots=True)
class DrawnFault:
    """Fault with the seconds before it (``pause``) and its duration in seconds (``hold``)."""

    fault: Fault
    pause: float
    hold: float


@dataclass(frozen=True, slots=True)
class FaultBurst:
    """Faults in flight together; if ``is_idle``, callers pause meanwhile."""

    faults: Sequence[DrawnFault]
    is_idle: bool


def draw(
    cluster: ChaosCluster, chance: random.Random, kinds: Sequence[str], counts: Counter[str], most: int
) -> FaultBurst:
    """Draw up to ``most`` faults of the least frequent kinds, without a common target."""
    is_idle = chance.random() < IDLE_SHARE and not all(KINDS[kind].NEEDS_LOAD for kind in kinds)
    size = chance.randint(1, most)
    faults: list[DrawnFault] = []
    targets: set[str] = set()
    for kind in sorted(kinds, key=lambda kind: (counts[kind], chance.random())):
        if len(faults) == size:
            break
        if is_idle and KINDS[kind].NEEDS_LOAD:
            continue
        fault = KINDS[kind](cluster, chance)
        if targets.isdisjoint(fault.targets):
            targets |= fault.targets
            faults.append(DrawnFault(fault, chance.uniform(*PAUSE), chance.uniform(*fault.HOLD)))
    return FaultBurst(faults, is_idle)
