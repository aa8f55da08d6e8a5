# SPDX-License-Identifier: Apache-2.0
"""Matching of replies to waiting callers on the embedded bus."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers import wire
from rpcapi.messaging.private import deserialize_remote_exception

LOG = logging.getLogger(__name__)

IsResponder = Callable[[str], bool]


class PendingReplies:
    """Calls that wait for a reply in any thread; the receiver's thread delivers."""

    def __init__(self, allowed_remote_exmods: list[str]) -> None:
        self._allowed_remote_exmods = allowed_remote_exmods
        self._lock = threading.Lock()
        self._queues: dict[str, tuple[queue.Queue[wire.WireReply], IsResponder]] = {}
        self._logged_users: set[str] = set()

    @contextmanager
    def register(self, request_id: str, is_responder: IsResponder) -> Iterator["queue.Queue[wire.WireReply]"]:
        """Yield a queue of the request's replies from users that satisfy the predicate."""
        reply_queue: queue.Queue[wire.WireReply] = queue.Queue()
        with self._lock:
            self._queues[request_id] = reply_queue, is_responder
        try:
            yield reply_queue
        finally:
            with self._lock:
                del self._queues[request_id]

    def deliver(self, reply: wire.WireReply, user: str) -> None:
        with self._lock:
            reply_queue, is_responder = self._queues.get(reply.id, (None, None))
        if reply_queue is None or is_responder is None:
            LOG.debug("Reply to %s dropped: no caller waits for it", reply.id)
        elif is_responder(user):
            reply_queue.put(reply)
        elif user not in self._logged_users:  # bounded by the number of bus users
            self._logged_users.add(user)
            LOG.warning("Dropped a reply from user %r, who was not called; further ones are not logged", user)

    def wait(
        self, reply_queue: "queue.Queue[wire.WireReply]", description: str, deadline: float, monitor: float | None
    ) -> Any:
        """Return the call's result, or raise its exception; waits at most ``monitor`` seconds for a heartbeat."""
        while True:
            now = time.monotonic()
            wait_until = deadline if monitor is None else min(deadline, now + monitor)
            try:
                reply = reply_queue.get(timeout=max(wait_until - now, 0))
            except queue.Empty:
                why = "no heartbeat from the server" if wait_until < deadline else "no reply in time"
                raise oslo_messaging.MessagingTimeout(f"{description}: {why}.") from None
            if reply.ending:
                return self._result_of(reply)

    def _result_of(self, reply: wire.WireReply) -> Any:
        if reply.failure is not None:
            raise deserialize_remote_exception(reply.failure, self._allowed_remote_exmods)
        return reply.result
