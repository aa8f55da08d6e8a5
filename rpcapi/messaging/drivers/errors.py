# SPDX-License-Identifier: Apache-2.0
"""Errors of the embedded bus and of the RabbitMQ driver."""

from oslo_messaging import exceptions

from rpcapi.messaging.private import TransportDriverError


class BusError(TransportDriverError):
    """Raised when the bus cannot perform an operation."""


class MessageTooLarge(BusError, exceptions.MessageUndeliverable):
    """Raised when a message exceeds the size that ``option`` allows; nothing was sent. For its base see QueueFull."""

    def __init__(self, size: int, bound: int, option: str = "[rpc] max_message_bytes") -> None:
        Exception.__init__(self, f"A message of {size} bytes is too large; {option} allows {bound}.")
        self.size = size
        self.bound = bound
        self.option = option


class BusRefused(BusError):
    """Raised when Redis rejects a command: no permission, out of memory, or wrong data type."""


class QueueFull(BusError, exceptions.MessageUndeliverable):
    """Raised when a queue is full; nothing was sent.

    oslo.messaging's RabbitMQ connection passes only MessageUndeliverable on; after other errors it closes its channel.
    """

    def __init__(self, queue: str, bound: int) -> None:
        Exception.__init__(self, f"Queue {queue} has {bound} messages, as many as [rpc] max_queue_length allows.")
        self.queue = queue
        self.bound = bound


class NotificationsUnsupported(BusError, NotImplementedError):
    """Raised when notifications are requested: the embedded bus carries RPC only."""


class MessageForeign(BusError):
    """Raised when a message is not in the bus's wire format."""


class ReceiversLost(BusError):
    """Raised when too many receivers of a message died or hung before they started it."""

    def __init__(self, receivers: int) -> None:
        super().__init__(f"{receivers} receivers ended or hung in turn before they began it.")


class ClaimedElsewhere(BusError):
    """Raised when this server must not run a message because another server received it."""


class MessageExpired(BusError):
    """Raised when a message's deadline passes before a server starts it."""
