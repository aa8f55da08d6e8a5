# SPDX-License-Identifier: Apache-2.0
"""Chance, seeded by the request: a decision can be replayed, and workers do not herd onto one host."""

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.intp]


class Lot:
    """Draws from a generator that is made only where something is left to chance: most decisions need none."""

    __slots__ = ("_generator", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator: np.random.Generator | None = None

    def draw(self, rows: Rows, count: int) -> Rows:
        """Return ``count`` different ones of ``rows``, in random order."""
        return self._chance().choice(rows, count, replace=False)

    def shuffled(self, rows: Rows) -> Rows:
        """Return ``rows`` in random order."""
        return self._chance().permutation(rows)

    def below(self, bound: int) -> int:
        """Return a number from 0 to ``bound`` - 1."""
        return int(self._chance().integers(bound)) if bound > 1 else 0

    def _chance(self) -> np.random.Generator:
        if self._generator is None:
            self._generator = np.random.Generator(np.random.PCG64(self._seed))
        return self._generator
