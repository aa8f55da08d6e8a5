# SPDX-License-Identifier: Apache-2.0
"""Isolation of an agent: so long without answers that an operator may have fenced its hosts."""

import threading
import time
from collections.abc import Callable


def seconds_since_boot() -> float:
    """Return the seconds since boot, including suspension. Changes of the wall clock have no effect."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AuditDue(Exception):
    """Raised instead of starting a guest while the host must audit first."""


class IsolationWatch:
    """Thread-safe counter of isolations: periods longer than ``timeout`` seconds without an answer.

    The host of an isolated agent may have been fenced and its instances moved; see AuditDuty.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = seconds_since_boot) -> None:
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._last_contact = clock()
        self._ended = 0  # isolations ended by an answer

    @property
    def count(self) -> int:
        """Number of isolations since the start, including the current one; never falls."""
        with self._lock:
            return self._ended + self._is_isolated()

    def now(self) -> float:
        return self._clock()

    def note_answer(self, sent_at: float) -> None:
        """Record an answer to a call sent at ``sent_at``.

        Contact is proven only for that time, since the agent may have been suspended after it.
        """
        with self._lock:
            self._ended += self._is_isolated()
            self._last_contact = max(self._last_contact, sent_at)

    def _is_isolated(self) -> bool:
        return self._clock() - self._last_contact > self._timeout


class AuditDuty:
    """Duty to audit before starting guests: after the agent's start and after each isolation."""

    def __init__(self, watch: IsolationWatch) -> None:
        self._watch = watch
        self._audited: int | None = None  # number of isolations before the last audit; None before the first

    @property
    def is_due(self) -> bool:
        """Whether claims may have ended without the agent's knowledge since the last audit."""
        return self._audited != self._watch.count

    def check(self) -> None:
        """Raise AuditDue while an audit is due; call immediately before each start of a guest."""
        if self.is_due:
            raise AuditDue

    @property
    def isolations(self) -> int:
        """Number of isolations so far; read it before an audit, for ``discharge``."""
        return self._watch.count

    def discharge(self, isolations: int) -> None:
        """Record an audit that was sent after ``isolations`` isolations.

        A later isolation makes another audit due.
        """
        self._audited = isolations
