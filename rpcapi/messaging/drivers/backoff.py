# SPDX-License-Identifier: Apache-2.0
"""Exponential backoff between attempts to reach Redis."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds that double from `initial` to `maximum`."""

    initial: float
    maximum: float

    def pauses(self) -> Iterator[float]:
        """Yield the pause before each further attempt, without end."""
        pause = min(self.initial, self.maximum)
        while True:
            yield pause
            pause = min(pause * 2, self.maximum)
