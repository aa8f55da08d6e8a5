# SPDX-License-Identifier: Apache-2.0
"""Isolation of an agent: without answers for so long, an operator may have fenced its hosts."""

import threading
import time
from collections.abc import Callable


def seconds_since_boot() -> float:
    """Return a time unaffected by clock changes that also counts while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AuditDue(Exception):
    """Raised instead of starting a guest while the host must audit first."""


class IsolationWatch:
    """Thread-safe counter of isolations, periods of more than ``timeout`` seconds without an answer.

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
        """Note the answer to a call of ``sent_at``: it proves contact then; the agent may have been suspended since."""
        with self._lock:
            self._ended += self._is_isolated()
            self._last_contact = max(self._last_contact, sent_at)

    def _is_isolated(self) -> bool:
        return self._clock() - self._last_contact > self._timeout


class AuditDuty:
    """Duty to audit before starting guests: after the agent's start and after each isolation."""

    def __init__(self, watch: IsolationWatch) -> None:
        self._watch = watch
        self._audited: int | None = None  # isolations before the last audit; None before the first audit

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
        """Note an audit sent after ``isolations``; a later isolation keeps the duty due."""
        self._audited = isolations
