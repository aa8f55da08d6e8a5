# SPDX-License-Identifier: Apache-2.0
"""Does a partition's store answer this worker, and since when?"""

import math
import time
from collections.abc import Callable


class Presence:
    """What the follower and the claims of one partition found out; any thread may tell and ask.

    A store that was never met is away, and one that answers at first has always been there.
    """

    __slots__ = ("_changed", "_clock", "_was_away", "away")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = -math.inf
        self._was_away = False
        self.away = True

    def found(self) -> None:
        """Note that the store answered."""
        if self.away:
            self._changed = self._clock() if self._was_away else -math.inf
            self.away = False

    def lost(self) -> None:
        """Note that the store did not answer."""
        if not self.away or not self._was_away:
            self._changed, self._was_away = self._clock(), True
        self.away = True

    def away_for(self, seconds: float) -> bool:
        """Tell whether the store has not answered once for that long."""
        return self.away and self._clock() - self._changed >= seconds

    def steady_for(self, seconds: float) -> bool:
        """Tell whether the store has answered for that long, without a break."""
        return not self.away and self._clock() - self._changed >= seconds
