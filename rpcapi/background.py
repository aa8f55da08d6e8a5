# SPDX-License-Identifier: Apache-2.0
"""Background threads of a service."""

import abc
import logging
import random
import threading
from collections.abc import Callable

from rpcapi import errors

LOG = logging.getLogger(__name__)

JITTER = 0.25  # plus or minus this fraction of the interval, so that workers do not run in lockstep
FAILURE_PAUSE = 1.0


class BackgroundLoop(abc.ABC):
    """Thread that calls ``run_once`` until it is stopped. Exceptions do not end it."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abc.abstractmethod
    def run_once(self) -> float:
        """Do the work once; return the seconds until the next run."""

    def handle_failure(self, error: Exception) -> float:
        """Log the error; return the seconds until the next run."""
        LOG.exception("%s failed; retrying in %.1f s", self._thread.name, FAILURE_PAUSE)
        return FAILURE_PAUSE

    def finish(self) -> None:  # noqa: B027 - most loops need no cleanup
        """Clean up in the thread after the last run."""

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        self._stopping.set()
        self._woken.set()

    def wait(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            if self._stopping.is_set():  # check after clear(), which may have erased the wake-up of stop()
                break
            try:
                pause = self.run_once()
            except Exception as error:  # no other thread would take over the work
                pause = self.handle_failure(error)
            if pause:
                self._woken.wait(pause)
        self.finish()


class Periodic(BackgroundLoop):
    def __init__(
        self, name: str, act: Callable[[], None], interval: Callable[[], float], end: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(name)
        self._act = act
        self._interval = interval
        self._end = end
        self._failing = False

    def run_once(self) -> float:
        self._act()
        self._failing = False
        return self._pause()

    def handle_failure(self, error: Exception) -> float:
        """Log an outage once as a warning, any other error with its traceback."""
        if isinstance(error, errors.Unavailable):
            (LOG.debug if self._failing else LOG.warning)("%s skipped: %s", self._thread.name, error)
            self._failing = True
        else:
            LOG.exception("%s failed", self._thread.name)
        return self._pause()

    def finish(self) -> None:
        self._end()

    def _pause(self) -> float:
        return self._interval() * random.uniform(1 - JITTER, 1 + JITTER)
