# SPDX-License-Identifier: Apache-2.0
"""Isolation of a host: so long without an acknowledged report that an operator may have fenced it."""

import threading
import time
from collections.abc import Callable


def seconds_since_boot() -> float:
    """Return the seconds since boot, including suspension. Changes of the wall clock have no effect."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AuditDue(Exception):
    """Raised instead of starting a guest while the host must audit first."""


class AuditDuty:
    """Duty to audit before starting guests: after the agent's start and after each isolation. Thread-safe.

    A host is isolated after ``timeout`` seconds without an acknowledged report. It may have been fenced since, and its
    instances moved. Other answers prove nothing: the store counts a host as down by its reports.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = seconds_since_boot) -> None:
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._last_report = clock()
        self._isolations = 0  # ended by a report
        self._audited: int | None = None  # number of isolations before the last audit; None before the first

    def now(self) -> float:
        return self._clock()

    def note_report(self, sent_at: float) -> None:
        """Note that the store has acknowledged a report, sent at ``sent_at``.

        Nothing is proven for the time after that, since the agent may have been suspended.
        """
        with self._lock:
            self._isolations += self._is_isolated()
            self._last_report = max(self._last_report, sent_at)

    @property
    def is_isolated(self) -> bool:
        with self._lock:
            return self._is_isolated()

    def _is_isolated(self) -> bool:
        return self._clock() - self._last_report > self._timeout

    @property
    def is_due(self) -> bool:
        """Whether claims may have ended without the agent's knowledge since the last audit."""
        with self._lock:
            return self._is_isolated() or self._audited != self._isolations

    def check(self) -> None:
        """Raise AuditDue while an audit is due; call immediately before each start of a guest."""
        if self.is_due:
            raise AuditDue

    @property
    def isolations(self) -> int:
        """Number of ended isolations; read it before an audit, for ``discharge``."""
        with self._lock:
            return self._isolations

    def discharge(self, isolations: int) -> None:
        """Record an audit that was sent after ``isolations`` isolations.

        During an isolation, and after a later one, another audit is due.
        """
        with self._lock:
            self._audited = isolations
