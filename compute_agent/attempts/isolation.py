# SPDX-License-Identifier: Apache-2.0
"""Isolation of an agent: no service has answered it for a time in which an operator may have fenced its hosts."""

import threading
import time
from collections.abc import Callable


def seconds_since_boot() -> float:
    """Return a time that no clock change moves, and that counts while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class AuditDue(Exception):
    """Raised instead of starting a guest while the host must audit first."""


class IsolationWatch:
    """Counts the times in which no service answered for longer than ``timeout`` seconds. Thread-safe.

    A host whose agent was isolated may have been fenced, and its instances may run elsewhere: see AuditDuty.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = seconds_since_boot) -> None:
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._last_contact = clock()
        self._ended = 0  # isolations that an answer has ended

    @property
    def count(self) -> int:
        """The number of isolations since the start, including a current one. It never falls."""
        with self._lock:
            return self._ended + self._is_isolated()

    def now(self) -> float:
        """Return the time of this watch, for ``note_answer``."""
        return self._clock()

    def note_answer(self, sent_at: float) -> None:
        """Note the answer to a call that was sent at ``sent_at``.

        The service may have answered at once, and the agent read the answer only after a suspension: the answer proves
        contact at the time of the call, not now.
        """
        with self._lock:
            self._ended += self._is_isolated()
            self._last_contact = max(self._last_contact, sent_at)

    def _is_isolated(self) -> bool:
        return self._clock() - self._last_contact > self._timeout


class AuditDuty:
    """Duty of a service host to audit before it starts a guest: after its agent's start and after each isolation."""

    def __init__(self, watch: IsolationWatch) -> None:
        self._watch = watch
        self._audited: int | None = None  # isolations before the last audit; None: no audit yet

    @property
    def is_due(self) -> bool:
        """True if claims may have ended since the last audit without the agent's knowledge."""
        return self._audited != self._watch.count

    def check(self) -> None:
        """Raise AuditDue while an audit is due; call it immediately before each start of a guest."""
        if self.is_due:
            raise AuditDue

    @property
    def isolations(self) -> int:
        """The number of isolations so far; read it before an audit, for ``discharge``."""
        return self._watch.count

    def discharge(self, isolations: int) -> None:
        """Note an audit that was sent after ``isolations``; a later isolation keeps the duty due."""
        self._audited = isolations
