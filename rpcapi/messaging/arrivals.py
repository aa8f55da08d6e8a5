# SPDX-License-Identifier: Apache-2.0
"""Arrival times of a server's messages, and the waits that they allow."""

import logging
import random
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rpcapi.messaging.backlog import BACKLOG
from rpcapi.messaging.dispatch import StrictServer, is_monitor_interval
from rpcapi.messaging.postponement import DelayedJobs
from rpcapi.messaging.private import trace_receive

LOG = logging.getLogger(__name__)

CALLER_SECONDS = 60.0  # default rpc_response_timeout of OpenStack's services
ANSWER_SHARE = 3  # callers are answered within this part of their time
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 4.0  # seconds between two runs of a postponed call
JITTER = (0.8, 1.2)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrival of a message at this process, in seconds of the monotonic clock.

    ``listening_since`` is the start of the server's current uninterrupted connection, ``runs`` counts the earlier runs
    of a postponed call.
    """

    received: float
    listening_since: float
    runs: int = 0


class ArrivalServer(StrictServer):
    """Strict server that sets ``arrival`` on each message before it waits for a thread.

    oslo.messaging acknowledges on receipt, even if all threads are busy: messages wait in this process, not at the
    broker. Only the rabbit drivers notice a lost connection.
    """

    _listening_since = 0.0
    _channel: Any = None
    _work_executor: Any  # set by oslo.messaging's start()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._delayed = DelayedJobs()

    def _create_listener(self) -> Any:
        self._work_executor = _LastRuns(self._work_executor, self._delayed)
        listener = super()._create_listener()
        self._listening_since, self._channel = time.monotonic(), _channel_of(listener)
        return listener

    def _on_incoming(self, incoming: list[Any]) -> None:
        now, channel = time.monotonic(), _channel_of(self.listener)
        if channel is not self._channel:  # after a lost connection messages may have waited at the broker
            self._listening_since, self._channel = now, channel
        for message in incoming:
            message.arrival = Arrival(now, self._listening_since)
        super()._on_incoming(incoming)

    def _postpone(self, message: Any) -> bool:
        """Run the call again after a pause, if its caller will then still wait for three times as long."""
        arrival, timeout = message.arrival, message.client_timeout
        waited_s = time.monotonic() - arrival.received
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**arrival.runs) * random.uniform(*JITTER)
        limit_s = (timeout if is_monitor_interval(timeout) else CALLER_SECONDS) / ANSWER_SHARE
        message.arrival = replace(arrival, runs=arrival.runs + 1)
        if waited_s + pause < limit_s and self._delayed.add(partial(self._resume, message), pause):
            return True
        LOG.info(
            "Answering message %s after %.1f s in which it ran %d times", message.msg_id, waited_s, arrival.runs + 1
        )
        return False

    def _resume(self, message: Any) -> None:
        BACKLOG.add(self._target.topic, 1)
        self._work_executor.submit(self._run_again, message)

    def _run_again(self, message: Any) -> None:
        BACKLOG.add(self._target.topic, -1)
        with trace_receive(self.conf, message):
            self._answer(message)


class _LastRuns:
    """Executor that runs postponed calls for the last time before it ends, when the server has stopped."""

    def __init__(self, executor: Any, delayed: DelayedJobs) -> None:
        self._executor = executor
        self._delayed = delayed
        self.submit = executor.submit

    def shutdown(self, wait: bool = True) -> None:
        self._delayed.close()
        self._executor.shutdown(wait=wait)


def _channel_of(listener: Any) -> Any:
    """Return the channel of rabbit's listener, new after each connection; None for other drivers."""
    connection = getattr(getattr(listener, "_poll_style_listener", None), "conn", None)
    return getattr(connection, "channel", None)
