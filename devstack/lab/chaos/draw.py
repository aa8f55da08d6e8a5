# SPDX-License-Identifier: Apache-2.0
"""Seeded draws of fault bursts, in which all kinds occur about equally often."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devstack.lab.chaos.deployment import ChaosCluster
from devstack.lab.chaos.faults import messages, processes, stores
from devstack.lab.chaos.faults.fault import Fault, FaultKind

KINDS: Mapping[str, FaultKind] = {kind.name: kind for kind in (*processes.FAULTS, *stores.FAULTS, *messages.FAULTS)}
IDLE_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class FaultBurst:
    """Faults in flight together; if ``is_idle``, callers pause meanwhile."""

    faults: Sequence[Fault]
    is_idle: bool


def draw(
    cluster: ChaosCluster, chance: random.Random, kinds: Sequence[str], counts: Counter[str], most: int
) -> FaultBurst:
    """Draw up to ``most`` faults of the least frequent kinds, without a common target."""
    is_idle = chance.random() < IDLE_SHARE and not all(KINDS[kind].needs_load for kind in kinds)
    size = chance.randint(1, most)
    faults: list[Fault] = []
    targets: set[str] = set()
    for name in sorted(kinds, key=lambda name: (counts[name], chance.random())):
        if len(faults) == size:
            break
        if is_idle and KINDS[name].needs_load:
            continue
        fault = Fault(KINDS[name], cluster, chance)
        if targets.isdisjoint(fault.targets):
            targets |= fault.targets
            faults.append(fault)
    return FaultBurst(faults, is_idle)
