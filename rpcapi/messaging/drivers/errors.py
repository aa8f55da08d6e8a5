# SPDX-License-Identifier: Apache-2.0
"""Errors of the drivers; oslo.messaging wraps them as driver errors for callers."""

from oslo_messaging import exceptions

from rpcapi.messaging.private import TransportDriverError


class BusError(TransportDriverError):
    """Raised when the bus cannot do a requested operation."""


class MessageTooLarge(BusError, exceptions.MessageUndeliverable):
    """Raised when a message has more bytes than `option` allows; nothing was sent. See QueueFull for its base."""

    def __init__(self, size: int, bound: int, option: str = "[rpc] max_message_bytes") -> None:
        Exception.__init__(self, f"A message of {size} bytes is too large: {option} allows {bound}.")
        self.size = size
        self.bound = bound
        self.option = option


class BusRefused(BusError):
    """Raised when Redis answers with an error: no permission, out of memory, or wrong data type."""


class QueueFull(BusError, exceptions.MessageUndeliverable):
    """Raised when a queue has as many messages as it may; nothing was sent.

    As a MessageUndeliverable it passes through oslo.messaging's RabbitMQ connection, which closes its channel and logs
    that the broker is unreachable for other errors.
    """

    def __init__(self, queue: str, bound: int) -> None:
        Exception.__init__(self, f"Queue {queue} has {bound} messages, as many as [rpc] max_queue_length allows.")
        self.queue = queue
        self.bound = bound


class NotificationsUnsupported(BusError, NotImplementedError):
    """Raised when notifications are requested: this bus carries RPC only."""


class MessageForeign(BusError):
    """Raised when a received message is not of this bus's wire format."""


class ReceiversLost(BusError):
    """Raised when the receivers of a message ended, or hung, before they began it."""

    def __init__(self, receivers: int) -> None:
        super().__init__(f"{receivers} receivers in turn ended or hung before they began it.")


class ClaimedElsewhere(BusError):
    """Raised when another server received the message meanwhile, so that this one must not run it."""


class MessageExpired(BusError):
    """Raised when a message outlived its deadline before a server could run it."""
