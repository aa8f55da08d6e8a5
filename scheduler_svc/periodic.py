# SPDX-License-Identifier: Apache-2.0
"""Something done again and again in a thread of its own."""

import random
import threading
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors

LOG = log.getLogger(__name__)

JITTER = 0.25  # of the interval, either way, so that workers do not all come at once


class Periodic:
    """Calls ``act`` every ``interval()`` seconds, the first time at once."""

    def __init__(self, name: str, act: Callable[[], None], interval: Callable[[], float]) -> None:
        self._name = name
        self._act = act
        self._interval = interval
        self._stopping = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Do it no more."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when the last time is over."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._act()
                self._failing = False
            except errors.Unavailable as error:
                # Said once an outage: the replica tells how it goes on.
                (LOG.debug if self._failing else LOG.warning)("%s had to be left out: %s", self._name, error)
                self._failing = True
            except Exception:
                # The edge of a thread: the next time may go well, and nothing else would do this work.
                LOG.exception("%s failed", self._name)
            self._stopping.wait(self._interval() * random.uniform(1 - JITTER, 1 + JITTER))
