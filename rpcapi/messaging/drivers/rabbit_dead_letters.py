# SPDX-License-Identifier: Apache-2.0
"""The dead letters of RabbitMQ: one bounded queue of messages that services cannot process.

The definitions bind the queue to an exchange that every service may publish to; only operators read it. A broker
without them keeps no dead letters.
"""

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
from rpcapi.access.rabbit_users import DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE
from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.dead_letters import MAX_LETTERS, DeadLetter, parse
from rpcapi.messaging.drivers.rabbit_queues import SECONDS, Connect, use_channel

LOG = logging.getLogger(__name__)

PAUSE = 60.0  # seconds without further tries after a letter could not be published


def write(connect: Connect, letter: DeadLetter) -> None:
    """Publish a letter as the user of the connection; for errors see use_channel."""
    with deadline.limit_wait(SECONDS), connect() as context:
        connection = context.connection
        # RabbitMQ refuses another user's name.
        properties = {"user_id": connection.connection.userid, "content_type": "application/json"}
        message = amqp.Message(json.dumps(asdict(letter)), **properties)
        use_channel(connection, lambda channel: channel.basic_publish(message, exchange=DEAD_LETTER_EXCHANGE))


def read(connect: Connect) -> list[DeadLetter] | None:
    """Return the letters, newest first; None if the broker has no queue for them.

    They return to the queue when the channel closes. Raises MessageDeliveryFailure.
    """
    try:
        with deadline.limit_wait(SECONDS), connect() as context:
            letters: list[DeadLetter] = use_channel(context.connection, _get_letters)
    except amqp.NotFound:
        return None
    except amqp.AccessRefused as error:
        raise oslo_messaging.MessageDeliveryFailure(f"Dead letters cannot be read: {tls.describe(error)}") from error
    return sorted(letters, key=lambda letter: letter.received_at, reverse=True)


def _get_letters(channel: amqp.Channel) -> list[DeadLetter]:
    letters: list[DeadLetter] = []
    while len(letters) < MAX_LETTERS and (message := channel.basic_get(DEAD_LETTER_QUEUE)) is not None:
        user = message.properties.get("user_id", "unknown")
        letters.append(parse(f"{DEAD_LETTER_QUEUE}, by {user}", message.body))
    return letters


class DeadLetterOutbox:
    """Publishes letters in a thread of its own, so that neither listeners nor servers wait for it.

    Keeps at most MAX_LETTERS, as the broker does, and drops those that cannot be published.
    """

    def __init__(self, publish: Callable[[DeadLetter], None]) -> None:
        self._publish = publish
        self._letters: deque[DeadLetter] = deque(maxlen=MAX_LETTERS)
        self._lock = threading.Lock()
        self._is_running = False
        self._next_try = 0.0

    def add(self, letter: DeadLetter) -> None:
        """Publish a letter soon."""
        with self._lock:
            if time.monotonic() < self._next_try:
                return
            self._letters.append(letter)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="dead letters", daemon=True).start()

    def close(self) -> None:
        """Publish no further letters."""
        with self._lock:
            self._letters.clear()
            self._next_try = float("inf")

    def _run(self) -> None:
        while (letter := self._take()) is not None:
            try:
                self._publish(letter)
            except (oslo_messaging.MessagingException, amqp.AMQPError, OSError) as error:
                LOG.debug("Dead letters are not kept: %s", error)  # each has been logged
                self._pause()
            except Exception:  # the top level of a thread
                LOG.exception("Dead letters are not kept")
                self._pause()

    def _pause(self) -> None:
        with self._lock:
            self._letters.clear()
            self._next_try = max(self._next_try, time.monotonic() + PAUSE)

    def _take(self) -> DeadLetter | None:
        with self._lock:
            if self._letters:
                return self._letters.popleft()
            self._is_running = False
            return None
