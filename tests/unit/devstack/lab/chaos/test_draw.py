# SPDX-License-Identifier: Apache-2.0
"""Faults drawn by a seed: repeatable, and all kinds equally often."""

import random
from collections import Counter

from devstack.lab.chaos.draw import KINDS, draw


def drawn(seed: int, number: int) -> list[str]:
    """Return the kinds of so many faults."""
    chance, counts = random.Random(seed), Counter[str]()
    for _ in range(number):
        counts[draw(chance, sorted(KINDS), counts).kind] += 1
    return list(counts.elements())


def test_same_seed_draws_the_same_faults() -> None:
    first, second = random.Random(7), random.Random(7)
    kinds, counts = sorted(KINDS), Counter[str]()
    assert [draw(first, kinds, counts) for _ in range(20)] == [draw(second, kinds, counts) for _ in range(20)]


def test_all_kinds_occur_equally_often() -> None:
    counts = Counter(drawn(1, 3 * len(KINDS)))
    assert set(counts.values()) == {3} and set(counts) == set(KINDS)


def test_at_most_half_of_the_faults_are_idle() -> None:
    chance = random.Random(1)
    idle = [draw(chance, sorted(KINDS), Counter()).is_idle for _ in range(1000)]
    assert 0 < sum(idle) < 500
