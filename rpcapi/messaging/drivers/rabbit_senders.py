# SPDX-License-Identifier: Apache-2.0
"""Senders that RabbitMQ has authenticated.

Every message carries the property `user_id` of the connection's user, and RabbitMQ refuses a message whose `user_id` is
not the user that the connection has logged in as. Nothing in a message's body is believed about its sender.
"""

import re
from typing import Any

import amqp
from kombu.messaging import Producer

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers.errors import MessageTooLarge

# Where oslo.messaging's listeners find the value `sender` of the request context in a message.
CONTEXT_SENDER = f"_context_{SENDER_KEY}"
DEFAULT_USER = "guest"  # of a transport URL without a user
# How RabbitMQ refuses a message that is larger than its max_message_size.
_SIZE_REFUSAL = re.compile(r"message size (\d+) is larger than (?:configured )?max size (\d+)")


class UserProducer(Producer):
    """A producer whose messages carry the user of its connection and have at most ``max_bytes``."""

    def __init__(self, channel: Any, user: str | None, max_bytes: int, **options: Any) -> None:
        super().__init__(channel, **options)  # type: ignore[no-untyped-call]
        self.user = user or DEFAULT_USER
        self._max_bytes = max_bytes
        self.is_mandatory = False  # whether the sender of the last message requires a queue for it

    def publish(self, body: Any, *arguments: Any, mandatory: bool = False, **options: Any) -> Any:
        """Publish with the property `user_id`; raises MessageTooLarge.

        RabbitMQ returns the message if it is dropped for lack of a queue.
        """
        self.is_mandatory = mandatory
        options |= {"user_id": self.user, "mandatory": True}
        return super().publish(body, *arguments, **options)  # type: ignore[no-untyped-call]

    def _prepare(self, *arguments: Any, **options: Any) -> Any:
        """Return the message's body, as it is sent, with its content type and encoding; raises MessageTooLarge."""
        body, content_type, content_encoding = super()._prepare(  # type: ignore[no-untyped-call]
            *arguments, **options
        )
        data = body.encode(content_encoding) if isinstance(body, str) else body
        if len(data) > self._max_bytes:
            raise MessageTooLarge(len(data), self._max_bytes)
        return data, content_type, content_encoding


def size_refusal(error: amqp.PreconditionFailed) -> MessageTooLarge | None:
    """Return the error of a message for which the broker closed the channel because of its size; else None."""
    sizes = _SIZE_REFUSAL.search(str(error))
    return sizes and MessageTooLarge(int(sizes[1]), int(sizes[2]), "max_message_size of RabbitMQ")


def user_of(message: Any) -> str | None:
    """Return the user who sent the message, as RabbitMQ has checked; None if the sender left it out."""
    user = message._raw_message.properties.get("user_id")
    return user if isinstance(user, str) and user else None
