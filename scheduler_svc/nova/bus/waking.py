# SPDX-License-Identifier: Apache-2.0
"""Makes gantt-nova-bridge read Nova's databases at once. Nothing that arrives on Nova's bus is believed itself."""

import time
from collections.abc import Callable

from oslo_log import log

from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.protocols.host_state import HostStateStore

LOG = log.getLogger(__name__)

PAUSE_SECONDS = 1.0  # between two requests: messages about instances are frequent, and each worker gets all of them


class BridgeWaker:
    """Wakes the bridge through the store; safe to call from many threads."""

    def __init__(self, store: HostStateStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._requested: float | None = None

    def wake(self, record: str) -> None:
        """Make the bridge read now, since a record may have changed; never fails.

        Nothing is requested if a reading was requested just now: the bridge reads at its interval anyway.
        """
        now = self._clock()
        if self._requested is not None and now - self._requested < PAUSE_SECONDS:
            return
        self._requested = now
        try:
            signals.request_reading(self._store)
        except errors.Unavailable as error:
            LOG.info("The bridge reads %s at its next interval: %s", record, error)
