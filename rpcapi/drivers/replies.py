# SPDX-License-Identifier: Apache-2.0
"""Callers waiting for answers, all through the one reply queue of their process."""

import logging
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import oslo_messaging
from oslo_messaging._drivers import common

from rpcapi.drivers import wire

LOG = logging.getLogger(__name__)


class Replies:
    """Who waits for which answer. Any thread may wait; the receiver's thread delivers."""

    def __init__(self, allowed_remote_exmods: list[str]) -> None:
        self._allowed_remote_exmods = allowed_remote_exmods
        self._lock = threading.Lock()
        self._waiting: dict[str, queue.Queue[wire.Reply]] = {}

    @contextmanager
    def expected(self, request_id: str) -> Iterator["queue.Queue[wire.Reply]"]:
        """Where the answers to this request arrive; those that come later are dropped."""
        arrivals: queue.Queue[wire.Reply] = queue.Queue()
        with self._lock:
            self._waiting[request_id] = arrivals
        try:
            yield arrivals
        finally:
            with self._lock:
                del self._waiting[request_id]

    def deliver(self, reply: wire.Reply) -> None:
        """Hand an answer to whoever waits for it."""
        with self._lock:
            arrivals = self._waiting.get(reply.id)
        if arrivals is None:
            LOG.debug("Nobody waits any more for the answer to %s", reply.id)
        else:
            arrivals.put(reply)

    def wait(self, arrivals: "queue.Queue[wire.Reply]", what: str, deadline: float, monitor: float | None) -> Any:
        """The result of the call, or what the server raised.

        `deadline` is of the monotonic clock. With `monitor`, so many seconds without a sign of life from the
        server end the wait earlier.

        :raises oslo_messaging.MessagingTimeout: when no answer came in time
        """
        while True:
            now = time.monotonic()
            silent_at = deadline if monitor is None else min(deadline, now + monitor)
            try:
                reply = arrivals.get(timeout=max(silent_at - now, 0))
            except queue.Empty:
                why = "no sign of life from the server" if silent_at < deadline else "no answer in time"
                raise oslo_messaging.MessagingTimeout(f"{what}: {why}.") from None
            if reply.ending:
                return self._outcome(reply)

    def _outcome(self, reply: wire.Reply) -> Any:
        if reply.failure is not None:
            raise common.deserialize_remote_exception(reply.failure, self._allowed_remote_exmods)
        return reply.result
