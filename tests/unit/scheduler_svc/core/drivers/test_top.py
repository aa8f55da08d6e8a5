# SPDX-License-Identifier: Apache-2.0
"""Selection of the highest scores, with random tie-breaking."""

import numpy as np
import pytest

from scheduler_svc.core.drivers.random_choice import SeededRandom, top_indexes


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 400, 512, 5000])
def test_top_indexes_returns_the_highest_scores_in_order(size):
    scores = np.random.default_rng(size).integers(0, 300, size).astype(float)
    indexes = top_indexes(scores, 16, SeededRandom(1))
    assert scores[indexes].tolist() == sorted(scores.tolist(), reverse=True)[:16]
    assert len(set(indexes.tolist())) == min(16, size)


def test_ties_at_the_cut_are_drawn_at_random():
    scores = np.array([2.0, *[1.0] * 30])
    rows = {row for seed in range(200) for row in top_indexes(scores, 3, SeededRandom(seed)).tolist()}
    assert rows == set(range(31))
