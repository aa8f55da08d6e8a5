# SPDX-License-Identifier: Apache-2.0
"""Dead letters on RabbitMQ, in one bounded queue from the broker's definitions, which only operators may read."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict

import amqp
import oslo_messaging

from rpcapi import tls
from rpcapi.access.broker_users import DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE
from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.dead_letters import MAX_LETTERS, DeadLetter, parse
from rpcapi.messaging.drivers.rabbit_queues import SECONDS, Connect, use_channel
from rpcapi.messaging.thread_pool import ThreadPool

LOG = logging.getLogger(__name__)

PAUSE = 60.0  # seconds until the next try after a failed publish


def write(connect: Connect, letter: DeadLetter) -> None:
    with deadline.limit_wait(SECONDS), connect() as context:
        connection = context.connection
        # RabbitMQ refuses the name of any other user.
        properties = {"user_id": connection.connection.userid, "content_type": "application/json"}
        message = amqp.Message(json.dumps(asdict(letter)), **properties)
        use_channel(connection, lambda channel: channel.basic_publish(message, exchange=DEAD_LETTER_EXCHANGE))


def read(connect: Connect) -> list[DeadLetter] | None:
    """Return the queue's letters without removing them, newest first; None without the queue."""
    try:
        with deadline.limit_wait(SECONDS), connect() as context:
            letters: list[DeadLetter] = use_channel(context.connection, _get_letters)
    except amqp.NotFound:
        return None
    except amqp.AccessRefused as error:
        raise oslo_messaging.MessageDeliveryFailure(f"Cannot read dead letters: {tls.describe(error)}") from error
    return sorted(letters, key=lambda letter: letter.received_at, reverse=True)


def _get_letters(channel: amqp.Channel) -> list[DeadLetter]:
    letters: list[DeadLetter] = []
    while len(letters) < MAX_LETTERS and (message := channel.basic_get(DEAD_LETTER_QUEUE)) is not None:
        user = message.properties.get("user_id", "unknown")
        letters.append(parse(f"{DEAD_LETTER_QUEUE}, by {user}", message.body))
    return letters


class DeadLetterOutbox:
    """Background publisher of dead letters; drops letters that it cannot publish."""

    def __init__(self, publish: Callable[[DeadLetter], None]) -> None:
        self._publish = publish
        self._letters: deque[DeadLetter] = deque(maxlen=MAX_LETTERS)
        self._pool = ThreadPool(1, "dead letters")
        self._next_try = 0.0
        self._lock = threading.Lock()

    def add(self, letter: DeadLetter) -> None:
        if time.monotonic() < self._next_try:
            return
        with self._lock:
            is_replacing = len(self._letters) == MAX_LETTERS  # the dropped letter's job publishes this letter
            self._letters.append(letter)
            if not is_replacing:
                self._pool.submit(self._publish_oldest)

    def close(self) -> None:
        self._next_try = float("inf")
        self._letters.clear()

    def _publish_oldest(self) -> None:
        with self._lock:
            if not self._letters:
                return
            letter = self._letters.popleft()
        try:
            self._publish(letter)
        except Exception as error:  # the letters are in the log anyway
            LOG.warning("Not keeping dead letters for %d s: %r", PAUSE, error)
            self._letters.clear()
            self._next_try = max(self._next_try, time.monotonic() + PAUSE)
