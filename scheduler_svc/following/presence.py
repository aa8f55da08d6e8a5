# SPDX-License-Identifier: Apache-2.0
"""Does a partition's store answer this worker, and since when?"""

import math
import time
from collections.abc import Callable


class Presence:
    """What the follower and the claims of one partition found out; any thread may tell and ask.

    A store that was never met is away, and one that answers at first has always been there.
    """

    __slots__ = ("_changed", "_clock", "_heard", "_was_away", "away")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = self._heard = -math.inf
        self._was_away = False
        self.away = True

    def found(self) -> None:
        """Note that the store answered."""
        self._heard = self._clock()
        if self.away:
            self._changed = self._clock() if self._was_away else -math.inf
            self.away = False

    def lost(self) -> None:
        """Note that the store did not answer."""
        if not self.away or not self._was_away:
            self._changed, self._was_away = self._clock(), True
        self.away = True

    @property
    def silent_s(self) -> float:
        """How many seconds ago the store answered last; infinite before it did."""
        return self._clock() - self._heard

    @property
    def steady_s(self) -> float:
        """For how many seconds the store has answered without a break; 0 while it is away."""
        return 0.0 if self.away else self._clock() - self._changed

    @property
    def away_s(self) -> float:
        """For how many seconds the store has not answered once; 0 while it does, and before it was first asked."""
        return self._clock() - self._changed if self.away and self._was_away else 0.0
