# SPDX-License-Identifier: Apache-2.0
"""Random choices, seeded by the request for replays, and selection of the highest scores with random tie-breaking."""

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import FloatColumn

Rows = npt.NDArray[np.intp]


class SeededRandom:
    """Random generator, created on first use because most decisions need none."""

    __slots__ = ("_generator", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator: np.random.Generator | None = None

    def draw(self, rows: Rows, count: int) -> Rows:
        return self._lazy_generator().choice(rows, count, replace=False)

    def shuffle(self, rows: Rows) -> Rows:
        return self._lazy_generator().permutation(rows)

    def sample(self, rows: Rows, size: int, bound: int) -> Rows:
        """Draw and sort ``size`` of ``rows`` below ``bound``; the same seed draws alike from similar rows."""
        keys = self._lazy_generator().random(bound)[rows]
        return np.sort(rows[np.argpartition(keys, size - 1)[:size]])

    def random_index(self, bound: int) -> int:
        return int(self._lazy_generator().integers(bound)) if bound > 1 else 0

    def _lazy_generator(self) -> np.random.Generator:
        if self._generator is None:
            self._generator = np.random.Generator(np.random.PCG64(self._seed))
        return self._generator


BLOCK = 32  # scores per block


def top_indexes(scores: FloatColumn, count: int, random: SeededRandom) -> Rows:
    """Return the indexes of the ``count`` highest scores (or all), best first. Ties are broken at random."""
    indexes = _unordered_top(scores, count, random) if count < len(scores) else np.arange(len(scores))
    values = scores[indexes]
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    if (ranked[1:] == ranked[:-1]).any():
        indexes = random.shuffle(indexes)
        order = np.argsort(-scores[indexes], kind="stable")
    return indexes[order]


def _unordered_top(scores: FloatColumn, count: int, random: SeededRandom) -> Rows:
    eligible: Rows = np.flatnonzero(scores >= _threshold(scores, count))
    values = scores[eligible]
    lowest = np.partition(values, len(values) - count)[len(values) - count]
    above: Rows = eligible[values > lowest]
    ties = eligible[values == lowest]
    if len(above) + len(ties) == count:
        top: Rows = eligible[values >= lowest]
        return top
    return np.concatenate((above, random.draw(ties, count - len(above))))


def _threshold(scores: FloatColumn, count: int) -> float:
    """Return the ``count``-th highest block maximum: at least ``count`` scores reach it, and few more."""
    blocks = len(scores) // BLOCK
    if blocks < count:
        return float(scores.min())
    # Interleaved blocks: their maxima are computed row by row, ten times as fast as block by block.
    block_maxima = scores[: blocks * BLOCK].reshape(BLOCK, blocks).max(axis=0)
    return float(np.partition(block_maxima, blocks - count)[blocks - count])
