# SPDX-License-Identifier: Apache-2.0
"""Senders that RabbitMQ has authenticated.

Every message carries the property `user_id` of the connection's user, and RabbitMQ refuses a message whose `user_id` is
not the user that the connection has logged in as. Nothing in a message's body is believed about its sender.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import amqp
import kombu

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers import rabbit_listening
from rpcapi.messaging.drivers.errors import MessageTooLarge

LOG = logging.getLogger(__name__)

# Where oslo.messaging's listeners find the value `sender` of the request context in a message.
CONTEXT_SENDER = f"_context_{SENDER_KEY}"
DEFAULT_USER = "guest"  # of a transport URL without a user
# How RabbitMQ refuses a message that is larger than its max_message_size.
_SIZE_REFUSAL = re.compile(r"message size (\d+) is larger than (?:configured )?max size (\d+)")
MAX_LOGGED = 1000  # users whose forged replies are logged, once each

IsResponder = Callable[[str | None], bool]


class UserProducer(kombu.messaging.Producer):
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


class AuthenticatedListener(rabbit_listening.LongPollListener):
    """A listener that puts the sender of each message into the request context, whatever the body says."""

    def __call__(self, message: Any) -> None:
        message[CONTEXT_SENDER] = user_of(message)
        super().__call__(message)


class _CurrentCall(threading.local):
    is_responder: IsResponder | None = None


_CALL = _CurrentCall()


@contextmanager
def expect_reply_of(is_responder: IsResponder) -> Iterator[None]:
    """Accept replies to the calls of this thread only from users for which the predicate is true."""
    previous, _CALL.is_responder = _CALL.is_responder, is_responder
    try:
        yield
    finally:
        _CALL.is_responder = previous


class AuthenticatedReplyWaiter(rabbit_listening.LongPollReplyWaiter):
    """A reader of replies that drops those of others than whom was called."""

    def __init__(self, *args: Any) -> None:
        self._responders: dict[str, IsResponder] = {}
        self._logged_users: set[str | None] = set()
        super().__init__(*args)

    def listen(self, msg_id: str) -> None:
        """Wait for replies to a message of this thread."""
        if _CALL.is_responder is not None:
            self._responders[msg_id] = _CALL.is_responder
        super().listen(msg_id)

    def unlisten(self, msg_id: str) -> None:
        """Wait no longer."""
        self._responders.pop(msg_id, None)
        super().unlisten(msg_id)

    def __call__(self, message: Any) -> None:
        user = user_of(message)
        is_responder = self._responders.get(message.get("_msg_id"))
        if is_responder is None or is_responder(user):
            super().__call__(message)
            return
        message.acknowledge()
        if user not in self._logged_users and len(self._logged_users) < MAX_LOGGED:
            self._logged_users.add(user)
            LOG.warning("Dropped a reply of user %r, which was not called; further ones are not logged", user)
