# SPDX-License-Identifier: Apache-2.0
"""RPC server that records arrivals and postpones calls while their callers still wait."""

import logging
import random
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rpcapi.messaging.dispatch import BACKLOG, StrictServer, is_monitor_interval
from rpcapi.messaging.postponement import DelayedJobs
from rpcapi.messaging.private import trace_receive

LOG = logging.getLogger(__name__)

CALLER_SECONDS = 60.0  # default rpc_response_timeout of OpenStack's services
ANSWER_SHARE = 3  # callers get an answer within 1/3 of their timeout
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 4.0  # seconds between runs of a postponed call
JITTER = (0.8, 1.2)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Monotonic times of a message's arrival and of its connection's start; ``runs`` counts earlier runs."""

    received: float
    listening_since: float
    runs: int = 0


class ArrivalServer(StrictServer):
    """Strict server that sets ``arrival`` on each message before it waits for a thread.

    oslo.messaging acknowledges on receipt, so messages wait in this process, not at the broker, while threads are busy.
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
        if channel is not self._channel:  # reconnected: messages may have waited at the broker
            self._listening_since, self._channel = now, channel
        for message in incoming:
            message.arrival = Arrival(now, self._listening_since)
        super()._on_incoming(incoming)

    def _postpone(self, message: Any) -> bool:
        """Schedule another run if it begins within 1/ANSWER_SHARE of the caller's timeout."""
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
    """Executor that, when the server stops, runs postponed calls a last time."""

    def __init__(self, executor: Any, delayed: DelayedJobs) -> None:
        self._executor = executor
        self._delayed = delayed
        self.submit = executor.submit

    def shutdown(self, wait: bool = True) -> None:
        self._delayed.close()
        self._executor.shutdown(wait=wait)


def _channel_of(listener: Any) -> Any:
    """Return the RabbitMQ listener's channel, which changes with each connection; None for other drivers."""
    connection = getattr(getattr(listener, "_poll_style_listener", None), "conn", None)
    return getattr(connection, "channel", None)
