# SPDX-License-Identifier: Apache-2.0
"""Listener for copies of calls to another service on RabbitMQ.

A private queue with the service's topic is bound to its exchange, so the broker delivers each call twice. The listener
neither declares the exchange nor publishes, so the service does not notice.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import kombu
from oslo_messaging.transport import RPCTransport

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from rpcapi.messaging import foreign_bus
from rpcapi.messaging.dispatch import check_message
from rpcapi.messaging.private import PURPOSE_LISTEN, Timeout
from rpcapi.messaging.private_rabbit import Consumer, unpack_context

LOG = logging.getLogger(__name__)

PREFETCH = 10
MAX_COPIES = 1000
MAX_AGE_MS = 60_000
EXPIRY_MS = 60_000  # lifetime of a queue without a listener
POLL_SECONDS = 1.0
RETRY_SECONDS = 5.0
QUEUE_ARGUMENTS = {"x-max-length": MAX_COPIES, "x-message-ttl": MAX_AGE_MS, "x-expires": EXPIRY_MS}

CopyHandler = Callable[[Mapping[str, Any], str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class CopySource:
    """Exchange and topic of the calls, and queue of the copies, which listeners may share."""

    exchange: str
    topic: str
    queue: str


class CopyListener(BackgroundLoop):
    """Thread that passes each copy of a call to ``handle(context, method, arguments)``."""

    def __init__(self, transport: RPCTransport, source: CopySource, handle: CopyHandler, *, label: str) -> None:
        """Raise BadConfiguration, with option ``label``, unless the bus is RabbitMQ."""
        super().__init__(f"copies of {source.topic}")
        self._transport = transport
        self._source = source
        self._handle = handle
        self._is_failing = False
        if not foreign_bus.is_rabbit(transport):
            raise errors.BadConfiguration(why=f"{label} must be rabbit://...: only RabbitMQ copies messages")

    def run_once(self) -> float:
        foreign_bus.probe(self._transport)
        self._require_exchange()
        with self._transport._driver._get_connection(PURPOSE_LISTEN) as context:
            context.connection.declare_consumer(_CopyConsumer(self._source, self._receive))
            LOG.info("Receiving copies of calls to %s by queue %s", self._source.topic, self._source.queue)
            self._is_failing = False
            while not self.is_stopping:
                try:
                    context.connection.consume(timeout=POLL_SECONDS)
                except Timeout:
                    continue
        return 0.0

    def handle_failure(self, error: Exception) -> float:
        (LOG.debug if self._is_failing else LOG.warning)("Receiving no copies of calls: %s", error)
        self._is_failing = True
        return RETRY_SECONDS

    def _require_exchange(self) -> None:
        name = self._source.exchange
        try:
            with foreign_bus.open_channel(self._transport) as channel:
                channel.exchange_declare(name, "topic", passive=True, auto_delete=False)
        except Exception as error:
            why = "no service has declared it yet" if "NOT_FOUND" in str(error) else str(error)
            raise errors.Unavailable(what=f"Exchange {name}", why=why) from error

    def _receive(self, message: Any) -> None:
        message.acknowledge()
        context = unpack_context(message)
        try:
            check_message(message)
        except errors.MalformedObject as error:
            LOG.warning("Ignored a copied message: %s", error)
            return
        try:
            self._handle(context.to_dict(), message["method"], message.get("args", {}))
        except Exception:  # a handler's failure must not end the listener
            LOG.exception("Failed to handle a copied call of %s", message["method"])


class _CopyConsumer(Consumer):
    def __init__(self, source: CopySource, callback: Callable[[Any], None]) -> None:
        super().__init__(
            exchange_name=source.exchange,
            queue_name=source.queue,
            routing_key=source.topic,
            type="topic",
            durable=True,
            exchange_auto_delete=False,
            queue_auto_delete=False,
            callback=callback,
        )
        self.queue_arguments = QUEUE_ARGUMENTS
        self.exchange = kombu.entity.Exchange(source.exchange, type="topic", no_declare=True)

    def declare(self, conn: Any) -> None:
        super().declare(conn)
        conn.channel.basic_qos(0, PREFETCH, False)
