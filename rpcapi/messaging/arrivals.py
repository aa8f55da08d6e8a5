# SPDX-License-Identifier: Apache-2.0
"""Arrival times of a server's messages, and how long the server had listened before."""

import time
from dataclasses import dataclass
from typing import Any

from rpcapi.messaging.dispatch import StrictServer


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrival of a message at this process, in seconds of the monotonic clock.

    ``listening_since`` is the start of the server's current uninterrupted connection.
    """

    received: float
    listening_since: float


class ArrivalServer(StrictServer):
    """Strict server that sets ``arrival`` on each message before it waits for a thread.

    oslo.messaging acknowledges on receipt, even if all threads are busy: messages wait in this process, not at the
    broker. Only the rabbit drivers notice a lost connection.
    """

    _listening_since = 0.0
    _channel: Any = None

    def _create_listener(self) -> Any:
        listener = super()._create_listener()
        self._listening_since, self._channel = time.monotonic(), _channel_of(listener)
        return listener

    def _on_incoming(self, incoming: list[Any]) -> None:
        now, channel = time.monotonic(), _channel_of(self.listener)
        if channel is not self._channel:  # after a lost connection messages may have waited at the broker
            self._listening_since, self._channel = now, channel
        for message in incoming:
            message.arrival = Arrival(now, self._listening_since)
        super()._on_incoming(incoming)


def _channel_of(listener: Any) -> Any:
    """Return the channel of rabbit's listener, new after each connection; None for other drivers."""
    connection = getattr(getattr(listener, "_poll_style_listener", None), "conn", None)
    return getattr(connection, "channel", None)
