# SPDX-License-Identifier: Apache-2.0
"""Drops calls that waited until their caller had given up, so that nothing is done for nobody."""

import datetime
import logging
import time
from collections.abc import Callable
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.messaging.dispatch import StrictDispatcher, is_monitor_interval

LOG = logging.getLogger(__name__)

DropCounter = Callable[[str], None]  # is called with the method's name
CallerProbe = Callable[[Any], bool]  # is called with a message; True where it is unknown whether its caller has gone
MAX_SILENCE = 0.25  # share of a caller's patience that a call may wait before it gets a heartbeat at once


class LateCallDispatcher(StrictDispatcher):
    """The strict dispatcher for callers whose context has the time of the request, and who monitor their calls.

    A caller gives up when it gets no heartbeat for ``client_timeout`` seconds, and gets none before its call is
    dispatched. So a call is dropped that has waited that long in this process. The time at the broker is not known:
    the time of the request is earlier than that of the call, so an old one alone says little. A call whose request is
    older than that is dropped if its reply queue is gone, or if this server had listened for less than that time when
    the call arrived: then it may have waited through an outage. It needs messages with an ``arrival``, as those of
    ArrivalServer.
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
        """Run the method of a received message, unless nobody waits for its answer; as StrictDispatcher."""
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
            LOG.warning("Dropped a call whose caller has gone: %s", error)
            raise messaging.ExpectedException() from error

    def _lateness(self, incoming: Any, patience: float) -> float | None:
        """Return for how many seconds the caller is gone, None if it may wait."""
        waited_s = self._monotonic() - float(incoming.arrival.received)
        if waited_s >= patience:
            return waited_s - patience
        requested = _read_time(incoming.ctxt)
        late_s = 0.0 if requested is None else self._clock() - requested - patience
        if late_s > 0 and not self._may_wait(incoming, patience):
            return late_s
        if waited_s > MAX_SILENCE * patience and not _send_heartbeat(incoming):
            return 0.0
        return None

    def _may_wait(self, incoming: Any, patience: float) -> bool:
        listened_s = incoming.arrival.received - incoming.arrival.listening_since
        return bool(listened_s >= patience and self._caller_may_wait(incoming))


def _send_heartbeat(incoming: Any) -> bool:
    """Let the caller of a call that has waited wait on: the next heartbeat might be too late. False if it has gone."""
    try:
        incoming.heartbeat()
    except messaging.MessageDeliveryFailure:
        return False
    return True


def _read_time(ctxt: Any) -> float | None:
    """Return the time of a context's request, None if it has none."""
    text = ctxt.get("timestamp") if isinstance(ctxt, dict) else None
    try:
        parsed = datetime.datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if parsed is None:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)).timestamp()
