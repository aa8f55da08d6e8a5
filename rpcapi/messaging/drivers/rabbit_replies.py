# SPDX-License-Identifier: Apache-2.0
"""Replies from RabbitMQ to a process's calls."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.rabbit_listening import FIRST_WAIT, LONGEST_WAIT
from rpcapi.messaging.drivers.rabbit_senders import user_of
from rpcapi.messaging.private import Timeout
from rpcapi.messaging.private_rabbit import ReplyWaiter

LOG = logging.getLogger(__name__)

MAX_LOGGED = 1000  # users whose first forged reply is logged

IsResponder = Callable[[str | None], bool]


_IS_RESPONDER: ContextVar[IsResponder | None] = ContextVar("is_responder", default=None)


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
