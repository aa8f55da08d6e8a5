# SPDX-License-Identifier: Apache-2.0
"""A short wait in which calls gather, so that they are ranked together."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from oslo_log import log

from rpcapi import errors
from scheduler_svc.deciding.asked import Asked
from scheduler_svc.deciding.decision import Look

LOG = log.getLogger(__name__)

Looks = Callable[[Sequence[Asked]], Sequence[Look | None]]


class _Round:
    """Calls that wait together."""

    def __init__(self) -> None:
        self.calls: list[tuple[Asked, Future[Look | None]]] = []
        self.full = threading.Event()


class Window:
    """The first call of a round waits, then ranks all that came; the others wait for it."""

    def __init__(self, rank: Looks, seconds: float, most: int) -> None:
        """A round ends after ``seconds``, or when ``most`` calls have come."""
        self._rank = rank
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._round = _Round()

    def look(self, asked: Asked) -> Look | None:
        """Return the look that was taken for this call together with others; None: it is to be decided by itself."""
        mine: Future[Look | None] = Future()
        with self._lock:
            joined = self._round
            joined.calls.append((asked, mine))
            leads = len(joined.calls) == 1
            if len(joined.calls) >= self._most:
                joined.full.set()
                self._round = _Round()
        if leads:
            joined.full.wait(self._seconds)
            self._close(joined)
        return mine.result()

    def _close(self, ended: _Round) -> None:
        with self._lock:
            if self._round is ended:
                self._round = _Round()
        looks: Sequence[Look | None] = [None] * len(ended.calls)
        try:
            looks = self._rank([asked for asked, _ in ended.calls])
        except errors.GanttError as error:
            LOG.warning("%d requests are decided one by one: %s", len(ended.calls), error)
        finally:
            # Whatever happened: those who wait must not wait for ever.
            for (_, future), look in zip(ended.calls, looks, strict=True):
                future.set_result(look)
