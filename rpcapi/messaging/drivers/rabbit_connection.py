# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ connection with bounded waits and a separate reply exchange; for the reasons see confined_rabbit."""

import logging
import time
import uuid
from typing import Any

import amqp
import kombu
import oslo_messaging

from rpcapi import tls
from rpcapi.access.broker_users import REPLY_EXCHANGE
from rpcapi.messaging.drivers import deadline, rabbit_returns, rabbit_senders, rabbit_transport
from rpcapi.messaging.drivers.errors import QueueFull
from rpcapi.messaging.drivers.rabbit_exchanges import BindingCheck, DeployedExchange
from rpcapi.messaging.drivers.rabbit_messages import PeerConsumer
from rpcapi.messaging.private import PURPOSE_LISTEN
from rpcapi.messaging.private_rabbit import Connection, Consumer, NotificationAMQPListener

LOG = logging.getLogger(__name__)

SEND_SECONDS = 10.0  # retry time of a cast or reply, enough for a quick restart of the broker
RECONNECT_PAUSE = 1.0
CONNECT_SECONDS = 5.0
MIN_SECONDS = 1.0
MIN_TTL = 0.001  # RabbitMQ would deliver a message with a TTL of 0 ms to waiting consumers


class RabbitConnection(Connection):
    """Stock connection that keeps its thread's deadline and replies through REPLY_EXCHANGE."""

    channel: Any
    max_retries: int | None
    _consumers: dict[Any, Any]
    _declared_exchanges: set[str]
    _producer: kombu.messaging.Producer

    def __init__(self, conf: Any, *args: Any, **kwargs: Any) -> None:
        # Before the stock constructor, which connects.
        self._binding_check = BindingCheck()
        self._max_queue_length = conf.rpc.max_queue_length
        self._max_message_bytes = conf.rpc.max_message_bytes
        super().__init__(conf, *args, **kwargs)

    def _fetch_ssl_params(self) -> dict[str, Any] | bool:
        return rabbit_transport.parameters(super()._fetch_ssl_params())

    def consume(self, timeout: float | None = None) -> None:
        """Wait for a message, or check the bindings if the check is due."""
        connection = None if self.channel is None else self.channel.connection  # None: closed
        if connection is None or not self._binding_check.is_due:
            super().consume(timeout)
            return
        with self._connection_lock:
            try:
                self._binding_check.run(connection, list(self._consumers))
            except (amqp.AMQPError, OSError) as error:
                LOG.info("Cannot check bindings: %s", error)  # the next call reconnects

    def declare_consumer(self, consumer: Consumer) -> None:
        """Consume a queue. Full fan-out queues drop their oldest messages, others refuse new ones."""
        consumer.exchange = DeployedExchange.of(consumer.exchange)
        # Queues of notifications have no limits, because other software declares them too.
        if not isinstance(consumer.callback, NotificationAMQPListener):
            consumer = PeerConsumer.of(consumer, self._max_queue_length, self._max_message_bytes)
        super().declare_consumer(consumer)

    def declare_fanout_consumer(self, topic: str, callback: Any) -> None:
        queue = f"{topic}_fanout.{self.connection.userid}.{uuid.uuid4().hex}"
        self._consume_transient(f"{topic}_fanout", "fanout", queue, topic, callback)

    def declare_direct_consumer(self, topic: str, callback: Any) -> None:
        self._consume_transient(REPLY_EXCHANGE, "topic", topic, topic, callback)

    def _consume_transient(self, exchange: str, kind: str, queue: str, routing_key: str, callback: Any) -> None:
        consumer = Consumer(
            exchange_name=exchange,
            queue_name=queue,
            routing_key=routing_key,
            type=kind,
            durable=self.rabbit_transient_quorum_queue,
            exchange_auto_delete=False,
            queue_auto_delete=False,
            callback=callback,
            rabbit_ha_queues=self.rabbit_ha_queues,
            rabbit_queue_ttl=self.rabbit_transient_queues_ttl,
            enable_cancel_on_failover=self.enable_cancel_on_failover,
            rabbit_quorum_queue=self.rabbit_transient_quorum_queue,
            rabbit_quorum_queue_config=self.rabbit_quorum_queue_config,
        )
        self.declare_consumer(consumer)

    def ensure_connection(self) -> None:
        """Connect until the thread's deadline; raises MessageDeliveryFailure."""
        remaining = deadline.remaining_seconds()
        if remaining is None and self.purpose == PURPOSE_LISTEN:
            super().ensure_connection()
            return
        # The heartbeat thread has no deadline, but blocks senders by the connection's lock, so it tries once.
        until = time.monotonic() + (remaining or 0.0)
        retries, self.max_retries = self.max_retries, 0
        try:
            while not self._try_connect(until):
                time.sleep(RECONNECT_PAUSE)
        finally:
            self.max_retries = retries

    def _try_connect(self, until: float) -> bool:
        now = time.monotonic()
        self.connection.connect_timeout = max(MIN_SECONDS, min(CONNECT_SECONDS, until - now))
        try:
            super().ensure_connection()
        except (kombu.exceptions.OperationalError, OSError) as error:
            failure = self._delivery_failure(error, connecting=True)
            # kombu switches hosts only between the attempts of one call.
            self.connection.maybe_switch_next()
            is_final = tls.is_refusal(error.__cause__ or error) and len(self.connection.alt) <= 1
            if is_final or time.monotonic() + RECONNECT_PAUSE >= until:
                raise failure from error
            return False
        except amqp.AMQPError as error:
            raise self._delivery_failure(error) from error
        return True

    def ensure(
        self,
        method: Any,
        retry: int | None = None,
        recoverable_error_callback: Any = None,
        error_callback: Any = None,
        timeout_is_error: bool = True,
    ) -> Any:
        """Run `method` until the deadline; QueueFull and MessageTooLarge are raised at once."""
        remaining = deadline.remaining_seconds()
        if remaining is None:
            return super().ensure(method, retry, recoverable_error_callback, error_callback, timeout_is_error)
        until = time.monotonic() + remaining
        self.interval_max = self.interval_start
        pause = self.kombu_reconnect_delay + self.interval_start
        final_errors: list[Exception] = []

        def on_recoverable_error(error: Exception) -> None:
            if recoverable_error_callback:
                recoverable_error_callback(error)
            if time.monotonic() + pause >= until:
                final_errors.append(error)
                raise self._delivery_failure(error)

        try:
            return super().ensure(method, retry, on_recoverable_error, error_callback, timeout_is_error)
        except oslo_messaging.MessageDeliveryFailure as error:
            # The stock message would be "after inf tries".
            cause = final_errors[-1] if final_errors else error.__context__ or error
            raise self._delivery_failure(cause) from cause

    def _set_current_channel(self, new_channel: Any) -> None:
        super()._set_current_channel(new_channel)
        if self.channel is not None and not isinstance(self._producer, rabbit_senders.UserProducer):
            user = self.connection.userid  # the next broker of the URL may have another user
            self._producer = rabbit_senders.UserProducer(
                self.channel, user, self._max_message_bytes, on_return=self.on_return
            )

    def on_return(self, exception: Exception, exchange: str, routing_key: str, message: Any) -> None:
        """Raise MessageUndeliverable for a mandatory message; log any other as dropped."""
        if getattr(self._producer, "is_mandatory", False):
            super().on_return(exception, exchange, routing_key, message)
        rabbit_returns.report_unroutable(exchange, routing_key)

    def _publish(
        self,
        exchange: Any,
        msg: Any,
        routing_key: str | None = None,
        timeout: float | None = None,
        transport_options: Any = None,
    ) -> None:
        if not (exchange.passive or exchange.name in self._declared_exchanges):
            DeployedExchange.of(exchange)(self.channel).declare()
            self._declared_exchanges.add(exchange.name)
        remaining = deadline.remaining_seconds()
        if timeout is not None and remaining is not None:
            # The stock driver's TTL is the whole timeout: after a slow connect a server would run an abandoned call.
            timeout = min(timeout, remaining)
            if timeout < MIN_TTL:
                raise oslo_messaging.MessageDeliveryFailure("Connecting used up the call's timeout")
        try:
            super()._publish(exchange, msg, routing_key, timeout, transport_options)
        except amqp.exceptions.MessageNacked:
            if self.rabbit_quorum_queue:
                self._replace_channel()
            raise QueueFull(routing_key or exchange.name, self._max_queue_length) from None
        except amqp.PreconditionFailed as error:
            refusal = rabbit_senders.size_refusal(error)
            if refusal is None:
                raise
            self._replace_channel()  # the broker has closed it
            raise refusal from error

    def _replace_channel(self) -> None:
        """Open a new channel for later messages.

        A channel that first published while a quorum queue's leader was lost is refused until the leader's node
        returns.
        """
        try:
            channel = self.connection.channel()
        except (*self.connection.recoverable_connection_errors, *self.connection.recoverable_channel_errors):
            channel = None  # the next message reconnects
        self._set_current_channel(channel)

    def _transport_socket_timeout(self, timeout: float | None) -> Any:
        remaining = deadline.remaining_seconds()
        if remaining is not None:
            # A hanging broker would never confirm the message.
            timeout = max(MIN_SECONDS, remaining if timeout is None else min(remaining, timeout))
        return super()._transport_socket_timeout(timeout)

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Publish a reply; raises AMQPDestinationNotFound or MessageUndeliverable if the caller is gone."""
        exchange = kombu.entity.Exchange(
            name=REPLY_EXCHANGE,
            type="topic",
            durable=self.rabbit_transient_quorum_queue,
            auto_delete=False,
            passive=True,  # declared by the caller; a declaration here would hide that the caller is gone
        )
        options = oslo_messaging.TransportOptions(at_least_once=self.direct_mandatory_flag)
        with deadline.limit_wait_if_unbounded(SEND_SECONDS):
            self._ensure_publishing(
                self._publish_and_raises_on_missing_exchange,
                exchange,
                msg,
                routing_key=msg_id,
                transport_options=options,
            )

    def _delivery_failure(self, error: Exception, *, connecting: bool = False) -> oslo_messaging.MessageDeliveryFailure:
        broker = self.connection.info()
        cause = tls.describe(error.__cause__ or error, handshake=connecting and self.ssl)
        return oslo_messaging.MessageDeliveryFailure(
            f"RabbitMQ at {broker['hostname']}:{broker['port']} is not available: {cause}"
        )
