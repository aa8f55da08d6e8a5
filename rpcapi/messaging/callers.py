# SPDX-License-Identifier: Apache-2.0
"""Whether the caller of a message still waits for its answer."""

from typing import Any, Protocol

from rpcapi.messaging import rabbit_channel


class CallerProbe(Protocol):
    """Finds out whether a caller still exists."""

    def is_waiting(self, incoming: Any) -> bool:
        """Return whether the caller's process may still receive an answer; True where that is unknown."""


class ReplyQueueProbe:
    """Looks for the reply queue of a caller, which RabbitMQ deletes some time after its process."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def is_waiting(self, incoming: Any) -> bool:
        """Return whether the reply queue exists, or the broker did not answer."""
        queue = getattr(incoming, "reply_q", None)
        if not queue or not rabbit_channel.is_rabbit(self._transport):
            return True
        try:
            with rabbit_channel.open_channel(self._transport) as channel:
                channel.queue_declare(queue, passive=True)
        except Exception as error:
            return "NOT_FOUND" not in str(error)
        return True
