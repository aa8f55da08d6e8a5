# SPDX-License-Identifier: Apache-2.0
"""Senders authenticated by RabbitMQ, which refuses any `user_id` but the connection's user."""

import re
from typing import Any

import amqp
from kombu.messaging import Producer

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers.errors import MessageTooLarge

# Message key that oslo.messaging's listeners copy to SENDER_KEY of the request context.
CONTEXT_SENDER = f"_context_{SENDER_KEY}"
DEFAULT_USER = "guest"  # kombu's user for a URL without a user
# RabbitMQ's error for a message above its max_message_size.
_SIZE_REFUSAL = re.compile(r"message size (\d+) is larger than (?:configured )?max size (\d+)")


class UserProducer(Producer):
    """Producer that adds its user to messages and limits their size."""

    def __init__(self, channel: Any, user: str | None, max_bytes: int, **options: Any) -> None:
        super().__init__(channel, **options)  # type: ignore[no-untyped-call]
        self.user = user or DEFAULT_USER
        self._max_bytes = max_bytes
        self.is_mandatory = False  # the last message requires a queue

    def publish(self, body: Any, *arguments: Any, mandatory: bool = False, **options: Any) -> Any:
        """Publish with `user_id`; the broker returns every unroutable message. Raises MessageTooLarge."""
        self.is_mandatory = mandatory
        options |= {"user_id": self.user, "mandatory": True}
        return super().publish(body, *arguments, **options)  # type: ignore[no-untyped-call]

    def _prepare(self, *arguments: Any, **options: Any) -> Any:
        body, content_type, content_encoding = super()._prepare(  # type: ignore[no-untyped-call]
            *arguments, **options
        )
        data = body.encode(content_encoding) if isinstance(body, str) else body
        if len(data) > self._max_bytes:
            raise MessageTooLarge(len(data), self._max_bytes)
        return data, content_type, content_encoding


def size_refusal(error: amqp.PreconditionFailed) -> MessageTooLarge | None:
    """Return an error if the broker closed the channel because of a message's size."""
    sizes = _SIZE_REFUSAL.search(str(error))
    return sizes and MessageTooLarge(int(sizes[1]), int(sizes[2]), "max_message_size of RabbitMQ")


def user_of(message: Any) -> str | None:
    """Return the authenticated sender of a message, or None."""
    user = message._raw_message.properties.get("user_id")
    return user if isinstance(user, str) and user else None
