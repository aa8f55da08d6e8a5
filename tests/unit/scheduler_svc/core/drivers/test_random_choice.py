# SPDX-License-Identifier: Apache-2.0
"""Random choices that a seed determines, and selection of the highest scores."""

import numpy as np
import pytest

from scheduler_svc.core.drivers.random_choice import SeededRandom, top_indexes

ROWS = np.array([3, 5, 8, 13, 21, 34])


def test_equal_seeds_make_equal_choices():
    def choices(seed):
        random = SeededRandom(seed)
        return (
            random.draw(ROWS, 3).tolist(),
            random.shuffle(ROWS).tolist(),
            [random.random_index(1000) for _ in range(5)],
        )

    assert choices(7) == choices(7)
    assert len({str(choices(seed)) for seed in range(20)}) == 20


def test_draw_returns_distinct_entries():
    for seed in range(50):
        drawn = SeededRandom(seed).draw(ROWS, 4).tolist()
        assert len(set(drawn)) == 4
        assert set(drawn) <= set(ROWS.tolist())


def test_shuffle_keeps_all_entries_and_the_argument():
    before = ROWS.copy()
    assert sorted(SeededRandom(1).shuffle(ROWS).tolist()) == before.tolist()
    assert ROWS.tolist() == before.tolist()


def test_index_covers_all_numbers_below_the_bound():
    assert {SeededRandom(seed).random_index(3) for seed in range(60)} == {0, 1, 2}


def test_index_with_one_choice_does_not_change_later_choices():
    random, other_random = SeededRandom(5), SeededRandom(5)
    assert random.random_index(1) == 0
    assert [random.random_index(100) for _ in range(5)] == [other_random.random_index(100) for _ in range(5)]


def test_sample_is_in_order_and_the_same_but_for_missing_rows():
    rows = np.arange(0, 200, 2)
    for seed in range(20):
        sample = SeededRandom(seed).sample(rows, 30, 200)
        assert len(set(sample.tolist())) == 30
        assert sample.tolist() == sorted(sample.tolist())
        missing = sample[3]
        other = SeededRandom(seed).sample(rows[rows != missing], 30, 200)
        assert len(set(other.tolist()) - set(sample.tolist())) == 1
        assert set(sample.tolist()) - set(other.tolist()) == {missing}
    assert len({str(SeededRandom(seed).sample(rows, 30, 200)) for seed in range(20)}) == 20


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
