# SPDX-License-Identifier: Apache-2.0
"""Faults drawn by a seed: repeatable, all kinds about equally often, those of a burst on different targets."""

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

from devstack.lab.chaos.draw import KINDS, draw

CLUSTER: Any = SimpleNamespace(
    programs={"scheduler": "scheduler", "conductor-0": "conductor", "compute-0": "compute", "compute-1": "compute"},
    stores={"default": None, "second": None},
    conductors=["conductor-0"],
)
BURSTS = 60


def counted(seed: int, most: int) -> Counter[str]:
    """Return the number of faults of each kind in BURSTS bursts."""
    chance, counts = random.Random(seed), Counter[str]()
    for _ in range(BURSTS):
        counts.update(item.kind.name for item in draw(CLUSTER, chance, sorted(KINDS), counts, most).faults)
    return counts


def test_same_seed_draws_the_same_faults() -> None:
    assert counted(7, 4) == counted(7, 4)


def test_all_kinds_occur_about_equally_often() -> None:
    assert set(counted(1, 1)) == set(KINDS)
    counts = counted(1, 4)
    assert set(counts) == set(KINDS) and max(counts.values()) - min(counts.values()) <= 2


def test_faults_of_a_burst_have_different_targets() -> None:
    chance = random.Random(1)
    for _ in range(BURSTS):
        burst = draw(CLUSTER, chance, sorted(KINDS), Counter(), 4)
        targets = [target for item in burst.faults for target in item.targets]
        assert 1 <= len(burst.faults) <= 4 and len(set(targets)) == len(targets)


def test_some_bursts_are_idle() -> None:
    chance = random.Random(1)
    idle = [draw(CLUSTER, chance, sorted(KINDS), Counter(), 4).is_idle for _ in range(1000)]
    assert 0 < sum(idle) < 500
    assert not draw(CLUSTER, chance, ["queues purged"], Counter(), 4).is_idle
