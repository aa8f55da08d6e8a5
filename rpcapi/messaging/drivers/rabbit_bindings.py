# SPDX-License-Identifier: Apache-2.0
"""Repair of RabbitMQ bindings, which the broker deletes with their exchange, without notice."""

import logging
import random
import time
from collections.abc import Iterable
from typing import Any

import amqp

LOG = logging.getLogger(__name__)

CHECK_SECONDS = 60.0  # mean of a random interval, so that ten thousand processes do not check together


class BindingCheck:
    def __init__(self) -> None:
        self._missing: set[str] = set()
        self._next_check = time.monotonic() + _interval()

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next_check

    def run(self, connection: amqp.Connection, consumers: Iterable[Any]) -> None:
        """Bind each consumer's queue to its exchange, which is created if missing. Raises AMQPError or OSError."""
        self._next_check = time.monotonic() + _interval()
        for consumer in consumers:
            self._bind(connection, consumer)

    def _bind(self, connection: amqp.Connection, consumer: Any) -> None:
        name = consumer.exchange.name
        channel = connection.channel()  # an error closes the channel, so do not use the consumers' one
        try:
            consumer.exchange.declare(channel=channel)
            channel.queue_bind(consumer.queue_name, name, consumer.routing_key)
        except (amqp.AccessRefused, amqp.NotFound) as error:
            self._missing.add(name)
            LOG.error("Queue %s is not bound to exchange %s: %s", consumer.queue_name, name, error)
            return
        channel.close()
        if name in self._missing:
            self._missing.discard(name)
            LOG.warning("Exchange %s exists again; bound queue %s to it", name, consumer.queue_name)


def _interval() -> float:
    return CHECK_SECONDS * random.uniform(0.5, 1.5)
