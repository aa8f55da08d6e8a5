# SPDX-License-Identifier: Apache-2.0
"""Waker of gantt-nova-bridge. Messages on Nova's bus only trigger reads; their content is not trusted."""

import time
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.protocols.host_state import HostStateStore

LOG = log.getLogger(__name__)

PAUSE_SECONDS = 1.0  # minimum interval of requests: messages about instances are frequent and reach every worker


class BridgeWaker:
    """Waker of the bridge through the store. Thread-safe."""

    def __init__(self, store: HostStateStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._requested: float | None = None

    def wake(self, record: str) -> None:
        """Make the bridge read now, unless this worker did so within PAUSE_SECONDS. Never fails."""
        now = self._clock()
        if self._requested is not None and now - self._requested < PAUSE_SECONDS:
            return
        self._requested = now
        try:
            signals.request_reading(self._store)
        except errors.Unavailable as error:
            LOG.info("Cannot wake the bridge; it will read %s at its next interval: %s", record, error)
