# SPDX-License-Identifier: Apache-2.0
"""What befalls a simulated service host in place of a report: silence, or a restart of its agent."""

from collections.abc import Callable
from enum import Enum, auto

from compute_agent import metrics
from compute_agent.profile import Profile


class Mishap(Enum):
    """What happens when a report is due."""

    NONE = auto()
    SILENCE = auto()
    RESTART = auto()


class Mishaps:
    """One service host's, through all lives of its agent; by the same seed the same on every run of the process."""

    def __init__(self, host: str, profile: Callable[[], Profile]) -> None:
        self._host = host
        self._profile = profile
        self._reports = 0

    def next(self) -> Mishap:
        """Return what happens at the report that is due now."""
        self._reports += 1
        profile = self._profile()
        if profile.restarts(self._host, self._reports):
            found = Mishap.RESTART
        elif profile.falls_silent(self._host, self._reports):
            found = Mishap.SILENCE
        else:
            return Mishap.NONE
        metrics.MISHAPS.labels(found.name.lower()).inc()
        return found

    def silence(self) -> float:
        """Return for how many seconds a silent host stays so."""
        return self._profile().silence_time
