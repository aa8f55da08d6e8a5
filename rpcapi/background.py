# SPDX-License-Identifier: Apache-2.0
"""A periodic task in its own thread."""

import logging
import random
import threading
from collections.abc import Callable

from rpcapi import errors

LOG = logging.getLogger(__name__)

JITTER = 0.25  # fraction of the interval, plus or minus, so that workers do not run all at once


class Periodic:
    """Calls ``act`` every ``interval()`` seconds, starting at once."""

    def __init__(self, name: str, act: Callable[[], None], interval: Callable[[], float]) -> None:
        self._name = name
        self._act = act
        self._interval = interval
        self._stopping = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current call."""
        self._stopping.set()

    def wait(self) -> None:
        """Wait until the thread has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._act()
                self._failing = False
            except errors.Unavailable as error:
                # Logged as a warning once for each outage: the replica logs its progress.
                (LOG.debug if self._failing else LOG.warning)("%s skipped: %s", self._name, error)
                self._failing = True
            except Exception:
                # Top level of a thread: the next call may succeed, and no other thread does this work.
                LOG.exception("%s failed", self._name)
            self._stopping.wait(self._interval() * random.uniform(1 - JITTER, 1 + JITTER))
