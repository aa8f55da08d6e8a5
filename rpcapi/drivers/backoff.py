# SPDX-License-Identifier: Apache-2.0
"""How long to pause between attempts to reach Redis."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds that double from the first to the longest."""

    first: float
    longest: float

    def pauses(self) -> Iterator[float]:
        """The pauses before each further attempt, without end."""
        pause = min(self.first, self.longest)
        while True:
            yield pause
            pause = min(pause * 2, self.longest)
