# SPDX-License-Identifier: Apache-2.0
"""RPC dispatch that drops calls whose callers have given up."""

import datetime
import logging
import time
from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.messaging.dispatch import StrictDispatcher, is_monitor_interval

LOG = logging.getLogger(__name__)

DropCounter = Callable[[str], None]  # receives a method's name
CallerProbe = Callable[[Any], bool]  # receives a message; returns whether its caller may still wait
MAX_SILENCE = 0.25  # share of the monitor timeout that a call may wait before it gets a heartbeat at once


class LateCallDispatcher(StrictDispatcher):
    """Dispatcher that drops monitored calls whose callers have given up.

    A caller gives up after ``client_timeout`` seconds without a heartbeat, so a call that waited this long in the
    process is dropped. The wait at the broker is unknown. A request older than ``client_timeout`` is therefore dropped
    if its reply queue is gone, or if this server began to listen less than ``client_timeout`` before it arrived: it may
    have waited through an outage.
    """

    def __init__(
        self,
        endpoints: list[Any],
        serializer: Any,
        *,
        may_wait: CallerProbe,
        on_dropped: DropCounter,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(endpoints, serializer)
        self._caller_may_wait = may_wait
        self._on_dropped = on_dropped
        self._clock = clock
        self._monotonic = monotonic

    def dispatch(self, incoming: Any) -> Any:
        if is_monitor_interval(incoming.client_timeout):
            late_s = self._lateness(incoming, incoming.client_timeout)
            if late_s is not None:
                self._drop(incoming, late_s)
        return super().dispatch(incoming)

    def _drop(self, incoming: Any, late_s: float) -> None:
        method = str(incoming.message.get("method")) if isinstance(incoming.message, dict) else ""
        request_id = incoming.ctxt.get("request_id") if isinstance(incoming.ctxt, dict) else None
        self._on_dropped(method)
        try:
            raise errors.DeadlinePassed(request_id=str(request_id), late=late_s)
        except errors.DeadlinePassed as error:
            LOG.warning("Dropped a call whose caller is gone: %s", error)
            raise messaging.ExpectedException() from error

    def _lateness(self, incoming: Any, timeout: float) -> float | None:
        """Return the seconds since the caller gave up; None if it may still wait."""
        waited_s = self._monotonic() - float(incoming.arrival.received)
        if waited_s >= timeout:
            return waited_s - timeout
        requested = _read_time(incoming.ctxt)
        late_s = 0.0 if requested is None else self._clock() - requested - timeout
        if late_s > 0 and not self._may_wait(incoming, timeout):
            return late_s
        if waited_s > MAX_SILENCE * timeout and not _send_heartbeat(incoming):
            return 0.0
        return None

    def _may_wait(self, incoming: Any, timeout: float) -> bool:
        listened_s = incoming.arrival.received - incoming.arrival.listening_since
        return bool(listened_s >= timeout and self._caller_may_wait(incoming))


def _send_heartbeat(incoming: Any) -> bool:
    """Send a heartbeat ahead of the regular one; return False if the caller is gone."""
    try:
        incoming.heartbeat()
    except messaging.MessageDeliveryFailure:
        return False
    return True


def _read_time(ctxt: Any) -> float | None:
    text = ctxt.get("timestamp") if isinstance(ctxt, dict) else None
    try:
        parsed = datetime.datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if parsed is None:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)).timestamp()
