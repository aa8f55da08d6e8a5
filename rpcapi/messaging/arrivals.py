# SPDX-License-Identifier: Apache-2.0
"""When the messages of a server arrived, and for how long it had listened then."""

import time
from dataclasses import dataclass
from typing import Any

from rpcapi.messaging.dispatch import StrictServer


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a message was read from the broker, and since when its server had listened without interruption.

    Both are in seconds of the monotonic clock.
    """

    received: float
    listening_since: float


class ArrivalServer(StrictServer):
    """The strict server; sets the attribute ``arrival`` of each message before it waits for a thread.

    oslo.messaging acknowledges a message as it reads it, and reads on while all threads are busy: so a message waits at
    the broker only while nobody listens, and afterwards in this process. With drivers other than rabbit's a lost
    connection is not noticed.
    """

    _listening_since = 0.0
    _channel: Any = None

    def _create_listener(self) -> Any:
        listener = super()._create_listener()
        self._listening_since, self._channel = time.monotonic(), _channel_of(listener)
        return listener

    def _on_incoming(self, incoming: list[Any]) -> None:
        now, channel = time.monotonic(), _channel_of(self.listener)
        if channel is not self._channel:  # the connection was lost, and messages may have waited at the broker since
            self._listening_since, self._channel = now, channel
        for message in incoming:
            message.arrival = Arrival(now, self._listening_since)
        super()._on_incoming(incoming)


def _channel_of(listener: Any) -> Any:
    """Return the channel of rabbit's listener, a new one after each connection; None for other drivers."""
    connection = getattr(getattr(listener, "_poll_style_listener", None), "conn", None)
    return getattr(connection, "channel", None)
