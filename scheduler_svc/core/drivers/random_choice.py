# SPDX-License-Identifier: Apache-2.0
"""Random numbers, seeded by the request.

Decisions can be replayed, and workers do not herd onto one host.
"""

import numpy as np
import numpy.typing as npt

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
        """Draw ``size`` of ``rows``, which are below ``bound``, and sort them.

        The same seed draws similar samples of similar rows.
        """
        keys = self._lazy_generator().random(bound)[rows]
        return np.sort(rows[np.argpartition(keys, size - 1)[:size]])

    def random_index(self, bound: int) -> int:
        return int(self._lazy_generator().integers(bound)) if bound > 1 else 0

    def _lazy_generator(self) -> np.random.Generator:
        if self._generator is None:
            self._generator = np.random.Generator(np.random.PCG64(self._seed))
        return self._generator
