# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ exchanges created by the deployment, and repair of bindings.

Permission to declare an exchange includes permission to delete it, and the broker deletes its bindings without notice.
"""

import logging
import random
import time
from collections.abc import Iterable
from typing import Any

import amqp
from kombu.entity import Exchange

from rpcapi.access.broker_users import DEPLOYED_EXCHANGES

LOG = logging.getLogger(__name__)
CHECK_SECONDS = 60.0  # mean of a random interval, so that ten thousand processes do not check together


class DeployedExchange(Exchange):
    """Exchange that is declared only if the deployment did not create it."""

    @classmethod
    def of(cls, stock: Exchange) -> "DeployedExchange":
        if stock.name in DEPLOYED_EXCHANGES:
            return cls(name=stock.name, type=stock.type, durable=True, auto_delete=False)
        return cls(name=stock.name, type=stock.type, durable=stock.durable, auto_delete=stock.auto_delete)

    def declare(self, nowait: bool = False, passive: bool | None = None, channel: Any = None) -> Any:
        channel = channel or self.channel
        if channel.connection is None:  # closed after an error; a retry opens a new channel
            raise amqp.RecoverableConnectionError("the channel is closed")
        check = channel.connection.channel()  # a separate channel, because a failed check closes it
        try:
            super().declare(passive=True, channel=check)  # type: ignore[no-untyped-call]
        except amqp.NotFound:
            LOG.warning(
                "Exchange %s is missing: import the broker's definitions. Creating it, if this user may.", self.name
            )
            return super().declare(  # type: ignore[no-untyped-call]
                nowait=nowait, passive=passive, channel=channel
            )
        check.close()
        return None


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
