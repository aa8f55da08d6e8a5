# SPDX-License-Identifier: Apache-2.0
"""Work that a service repeats in a thread of its own."""

import abc
import logging
import random
import threading
from collections.abc import Callable

from rpcapi import errors

LOG = logging.getLogger(__name__)

JITTER = 0.25  # fraction of the interval, plus or minus, so that workers do not run all at once
FAILURE_PAUSE = 1.0


class BackgroundLoop(abc.ABC):
    """Calls ``run_once`` in a thread of its own until it is stopped; a failure never ends the thread."""

    def __init__(self, name: str) -> None:
        """``name`` is the thread's, and appears in logs."""
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abc.abstractmethod
    def run_once(self) -> float:
        """Do the work once; return the seconds to wait before the next time."""

    def handle_failure(self, error: Exception) -> float:
        """Log an error that ``run_once`` raised; return the seconds to wait before the next time."""
        LOG.exception("%s failed; retrying in %.1f s", self._thread.name, FAILURE_PAUSE)
        return FAILURE_PAUSE

    def finish(self) -> None:  # noqa: B027 - for most loops nothing remains
        """Do what remains after the last call of ``run_once``; called in the thread."""

    @property
    def is_stopping(self) -> bool:
        """Whether the loop was stopped."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """End the current wait, or skip the next one."""
        self._woken.set()

    def stop(self) -> None:
        """Make the thread end after the current call."""
        self._stopping.set()
        self._woken.set()

    def wait(self) -> None:
        """Wait until the thread has ended; return at once if it was never started."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            if self._stopping.is_set():  # checked after the clear, which may have followed a stop
                break
            try:
                pause = self.run_once()
            except Exception as error:  # nobody else does this work
                pause = self.handle_failure(error)
            if pause:
                self._woken.wait(pause)
        self.finish()


class Periodic(BackgroundLoop):
    """Calls ``act`` every ``interval()`` seconds, starting at once, and ``end`` after the last time."""

    def __init__(
        self,
        name: str,
        act: Callable[[], None],
        interval: Callable[[], float],
        end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name)
        self._act = act
        self._interval = interval
        self._end = end
        self._failing = False

    def run_once(self) -> float:
        """Call ``act``; return the interval, varied at random."""
        self._act()
        self._failing = False
        return self._pause()

    def handle_failure(self, error: Exception) -> float:
        """Log an outage as a warning, once until it is over, and any other error with its traceback."""
        if isinstance(error, errors.Unavailable):
            (LOG.debug if self._failing else LOG.warning)("%s skipped: %s", self._thread.name, error)
            self._failing = True
        else:
            LOG.exception("%s failed", self._thread.name)
        return self._pause()

    def finish(self) -> None:
        """Call ``end``."""
        self._end()

    def _pause(self) -> float:
        return self._interval() * random.uniform(1 - JITTER, 1 + JITTER)
