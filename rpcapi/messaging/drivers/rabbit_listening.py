# SPDX-License-Identifier: Apache-2.0
"""Listeners of requests and replies on RabbitMQ, without the stock driver's short polls.

After each message the stock driver polls for 1, 2, 4, ... ms, which only notifications need, and which costs a fifth of
an empty call.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.drivers.rabbit_senders import CONTEXT_SENDER, user_of
from rpcapi.messaging.private import PURPOSE_SEND, Timeout
from rpcapi.messaging.private_rabbit import AMQPDestinationNotFound, AMQPIncomingMessage, ReplyWaiter, RpcAMQPListener

LOG = logging.getLogger(__name__)

# Seconds of the first poll after a message, and of the longest poll. A stop waits for the current poll.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
MAX_LOGGED = 1000  # users whose first forged reply is logged

IsResponder = Callable[[str | None], bool]


_IS_RESPONDER: ContextVar[IsResponder | None] = ContextVar("is_responder", default=None)


class PromptIncomingMessage(AMQPIncomingMessage):
    """Received message whose reply is sent once: with retries, dead callers could occupy all threads."""

    listener: Any

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        if not self.orig_msg_id:  # a cast
            return
        try:
            with self.listener.driver._get_connection(PURPOSE_SEND) as connection:
                self._send_reply(connection, reply, failure)
        except MessageTooLarge:
            raise
        except (oslo_messaging.MessageUndeliverable, AMQPDestinationNotFound):
            LOG.warning("The reply queue %s is gone: dropped the reply %s", self.reply_q, self.msg_id)


class RabbitListener(RpcAMQPListener):
    message_cls = PromptIncomingMessage

    _shutoff: Any
    _wait: float

    def __call__(self, message: Any) -> None:
        message[CONTEXT_SENDER] = user_of(message)
        super().__call__(message)

    @property
    def is_closing(self) -> bool:
        """Whether a message accepted now would never run."""
        return bool(self._shutoff.is_set())

    @property
    def _current_timeout(self) -> float:
        return self._wait

    @_current_timeout.setter
    def _current_timeout(self, seconds: float) -> None:
        # The stock listener starts at 1 ms and doubles the timeout on every empty poll.
        self._wait = max(seconds, FIRST_WAIT)


@contextmanager
def expect_reply_of(is_responder: IsResponder) -> Iterator[None]:
    """Accept replies to this context's calls only from users that satisfy the predicate."""
    token = _IS_RESPONDER.set(is_responder)
    try:
        yield
    finally:
        _IS_RESPONDER.reset(token)


class RabbitReplyWaiter(ReplyWaiter):
    """Reply waiter that drops replies from users other than the callee."""

    conn: Any
    _thread_exit_event: Any

    def __init__(self, *args: Any) -> None:
        self._responders: dict[str, IsResponder] = {}
        self._logged_users: set[str | None] = set()
        super().__init__(*args)

    def listen(self, msg_id: str) -> None:
        if (is_responder := _IS_RESPONDER.get()) is not None:
            self._responders[msg_id] = is_responder
        super().listen(msg_id)

    def unlisten(self, msg_id: str) -> None:
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
            LOG.warning("Dropped a reply from user %r, who was not called; further ones are not logged", user)

    def wait(self, msg_id: str, timeout: float | None, call_monitor_timeout: float | None, reply_q: str) -> Any:
        remaining = deadline.remaining_seconds()
        return super().wait(msg_id, timeout if remaining is None else remaining, call_monitor_timeout, reply_q)

    def poll(self) -> None:
        wait = FIRST_WAIT
        while not self._thread_exit_event.is_set():
            try:
                self.conn.consume(timeout=wait)
            except Timeout:
                wait = min(2 * wait, LONGEST_WAIT)
            except Exception:  # a bad reply must not stop the reader
                LOG.exception("Failed to process a reply; continuing")
            else:
                wait = FIRST_WAIT
