# SPDX-License-Identifier: Apache-2.0
"""Immediate reads by gantt-nova-bridge. Messages on Nova's bus are triggers, their content is not trusted."""

import time
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.protocols.host_state import HostStateStore

LOG = log.getLogger(__name__)

PAUSE_SECONDS = 1.0  # between two requests: messages about instances are frequent, and reach every worker


class BridgeWaker:
    """Wakes the bridge through the store. Thread-safe."""

    def __init__(self, store: HostStateStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._requested: float | None = None

    def wake(self, record: str) -> None:
        """Make the bridge read now, but not right after another request; never fails."""
        now = self._clock()
        if self._requested is not None and now - self._requested < PAUSE_SECONDS:
            return
        self._requested = now
        try:
            signals.request_reading(self._store)
        except errors.Unavailable as error:
            LOG.info("Cannot wake the bridge; it will read %s at its next interval: %s", record, error)
