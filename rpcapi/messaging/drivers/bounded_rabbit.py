# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver with bounded waits while the broker is unreachable.

The stock driver opens its reply connection, and sends servers' replies, without any time limit: a call with
a timeout of five seconds hangs as long as the broker is down, and a server that holds a reply cannot stop.
In this driver every wait of a caller or of a replying server ends with the call's timeout, or after SEND_SECONDS, in
MessageDeliveryFailure or MessagingTimeout. Listening has no limit, so that a server recovers when the broker returns.
"""

import functools
import time
from typing import Any

import amqp
import kombu
import oslo_messaging

from rpcapi import tls
from rpcapi.access.senders import DIRECTED_SERVICES, SERVICES_WITHOUT_FANOUT, SenderDirectory
from rpcapi.messaging.drivers import deadline as patience
from rpcapi.messaging.drivers import rabbit_dead_letters, rabbit_queues, rabbit_returns, rabbit_senders, rabbit_tls
from rpcapi.messaging.drivers.dead_letters import DeadLetter
from rpcapi.messaging.drivers.errors import QueueFull
from rpcapi.messaging.drivers.rabbit_messages import PeerConsumer
from rpcapi.messaging.drivers.rabbit_pool import BoundedPool
from rpcapi.messaging.private import PURPOSE_LISTEN, PURPOSE_SEND, PollStyleListenerAdapter
from rpcapi.messaging.private_rabbit import Connection, Consumer, NotificationAMQPListener, RabbitDriver

# Seconds that sending a cast or a reply is retried: long enough for a quick restart of the broker.
SEND_SECONDS = 10.0
# Seconds between two attempts to connect.
RECONNECT_PAUSE = 1.0
# Seconds after which a broker that accepts no connection counts as unreachable.
CONNECT_SECONDS = 5.0
MIN_SECONDS = 1.0
# RabbitMQ counts in milliseconds, and still delivers a message with a TTL of 0 to a waiting consumer.
MIN_TTL = 0.001


class BoundedConnection(Connection):
    """A connection of the stock driver that respects the deadline of the thread that uses it."""

    max_retries: int | None
    _producer: kombu.messaging.Producer

    def __init__(self, conf: Any, *args: Any, **kwargs: Any) -> None:
        # The stock class connects in its constructor.
        self._max_queue_length = conf.rpc.max_queue_length
        self._max_message_bytes = conf.rpc.max_message_bytes
        super().__init__(conf, *args, **kwargs)

    def _transform_transport_url(self, *arguments: Any, **defaults: Any) -> str:
        url: str = super()._transform_transport_url(*arguments, **defaults)
        return url.replace("amqp://", f"{rabbit_tls.SCHEME}://", 1)

    def _fetch_ssl_params(self) -> dict[str, Any] | bool:
        return rabbit_tls.parameters(super()._fetch_ssl_params())

    def declare_consumer(self, consumer: Consumer) -> Any:
        """Declare a queue that refuses messages when it is full; one of a fan-out drops the oldest instead."""
        # Publishers of notifications, of other software too, declare their queues unbounded.
        if not isinstance(consumer.callback, NotificationAMQPListener):
            consumer = PeerConsumer.of(consumer, self._max_queue_length, self._max_message_bytes)
        return super().declare_consumer(consumer)

    def ensure_connection(self) -> None:
        """Connect, or reconnect.

        :raises oslo_messaging.MessageDeliveryFailure: at the thread's deadline, or when access is refused
        """
        remaining = patience.remaining_seconds()
        if remaining is None and self.purpose == PURPOSE_LISTEN:
            super().ensure_connection()
            return
        # The heartbeat thread has no deadline and holds the lock that a sender waits for, so it tries once.
        deadline = time.monotonic() + (remaining or 0.0)
        retries, self.max_retries = self.max_retries, 0
        try:
            while not self._try_connect(deadline):
                time.sleep(RECONNECT_PAUSE)
        finally:
            self.max_retries = retries

    def _try_connect(self, deadline: float) -> bool:
        now = time.monotonic()
        self.connection.connect_timeout = max(MIN_SECONDS, min(CONNECT_SECONDS, deadline - now))
        try:
            super().ensure_connection()
        except (kombu.exceptions.OperationalError, OSError) as error:
            failure = self._delivery_failure(error, connecting=True)
            # After a single attempt kombu does not switch to the next host by itself.
            self.connection.maybe_switch_next()
            is_final = tls.is_refusal(error.__cause__ or error) and len(self.connection.alt) <= 1
            if is_final or time.monotonic() + RECONNECT_PAUSE >= deadline:
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
        """Run `method`, reconnecting as needed until the thread's deadline.

        :raises oslo_messaging.MessageDeliveryFailure: when the broker stayed unreachable, or refused
        :raises QueueFull, MessageTooLarge: at once
        """
        remaining = patience.remaining_seconds()
        if remaining is None:
            return super().ensure(method, retry, recoverable_error_callback, error_callback, timeout_is_error)
        deadline = time.monotonic() + remaining
        self.interval_max = self.interval_start
        pause = self.kombu_reconnect_delay + self.interval_start
        final_errors: list[Exception] = []

        def on_recoverable_error(error: Exception) -> None:
            if recoverable_error_callback:
                recoverable_error_callback(error)
            if time.monotonic() + pause >= deadline:
                final_errors.append(error)
                raise self._delivery_failure(error)

        try:
            return super().ensure(method, retry, on_recoverable_error, error_callback, timeout_is_error)
        except oslo_messaging.MessageDeliveryFailure as error:
            # The original text counts tries ("after inf tries"), but this driver limits time.
            cause = final_errors[-1] if final_errors else error.__context__ or error
            raise self._delivery_failure(cause) from cause

    def _set_current_channel(self, new_channel: Any) -> None:
        super()._set_current_channel(new_channel)
        if self.channel is not None and not isinstance(self._producer, rabbit_senders.UserProducer):
            # The user of the connection in use: after a failover to another broker it may be another one.
            user = self.connection.userid
            self._producer = rabbit_senders.UserProducer(
                self.channel, user, self._max_message_bytes, on_return=self.on_return
            )

    def on_return(self, exception: Exception, exchange: str, routing_key: str, message: Any) -> None:
        """Raise MessageUndeliverable for a message that requires a queue; report that another one was dropped."""
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
        remaining = patience.remaining_seconds()
        if timeout is not None and remaining is not None:
            # The stock driver sets the message's TTL to the whole timeout from now on. If connecting took part of
            # that time, a server would still run the call after its caller has given up.
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
        """Send later messages by another channel, after a queue refused one: not only a full queue refuses.

        A channel that first published to a quorum queue while the node of its leader was lost is refused for as long as
        that node is away; another channel is not.
        """
        try:
            channel = self.connection.channel()
        except (*self.connection.recoverable_connection_errors, *self.connection.recoverable_channel_errors):
            channel = None  # the next message connects again
        self._set_current_channel(channel)

    def _transport_socket_timeout(self, timeout: float | None) -> Any:
        remaining = patience.remaining_seconds()
        if remaining is not None:
            # A broker that hangs never confirms a published message.
            timeout = max(MIN_SECONDS, remaining if timeout is None else min(remaining, timeout))
        return super()._transport_socket_timeout(timeout)

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Publish a reply; gives up after SEND_SECONDS."""
        with patience.limit_wait_if_unbounded(SEND_SECONDS):
            super().direct_send(msg_id, msg)

    def _delivery_failure(self, error: Exception, *, connecting: bool = False) -> oslo_messaging.MessageDeliveryFailure:
        broker = self.connection.info()
        # kombu's error repeats the text of its cause.
        cause = tls.describe(error.__cause__ or error, handshake=connecting and self.ssl)
        return oslo_messaging.MessageDeliveryFailure(
            f"RabbitMQ at {broker['hostname']}:{broker['port']} is not available: {cause}"
        )


class BoundedReplyWaiter(rabbit_senders.AuthenticatedReplyWaiter):
    """Waits for a reply within the time that connecting and sending left of the call's timeout."""

    def wait(self, msg_id: str, timeout: float | None, call_monitor_timeout: float | None, reply_q: str) -> Any:
        """Return the server's reply; raises MessagingTimeout."""
        remaining = patience.remaining_seconds()
        return super().wait(msg_id, timeout if remaining is None else remaining, call_monitor_timeout, reply_q)


class BoundedRabbitDriver(RabbitDriver):
    """The driver that bus.get_transport uses for `rabbit://`; options as in the stock driver.

    Raises BadConfiguration when the files of TLS cannot be used.
    """

    connection_cls: type[BoundedConnection] = BoundedConnection
    _connection_pool: Any
    _reply_q: str | None

    def __init__(self, conf: Any, url: oslo_messaging.TransportURL, *args: Any, **kwargs: Any) -> None:
        super().__init__(conf, url, *args, **kwargs)
        rabbit_tls.check(self.conf.oslo_messaging_rabbit)
        # Connections are opened on first use: no connection of the stock class exists yet.
        self._connection_pool = BoundedPool.with_sizes_of(self._connection_pool, self.connection_cls)
        self._shared_topics: set[str] = set()  # of servers of this process; also the names of their queues
        self.dead_letter_outbox = rabbit_dead_letters.DeadLetterOutbox(
            functools.partial(rabbit_dead_letters.write, self._get_connection)
        )

    @functools.cached_property
    def senders(self) -> SenderDirectory:
        """The senders that this bus authenticates."""
        return SenderDirectory.of_patterns(self.conf.rpc.shared_agent_hosts)

    def send(
        self,
        target: oslo_messaging.Target,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        *,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        call_monitor_timeout: float | None = None,
        retry: int | None = None,
        transport_options: Any = None,
    ) -> Any:
        """Call within `timeout`, or cast within SEND_SECONDS; `retry` 0 tries a cast once, other values are ignored.

        :raises oslo_messaging.MessagingTimeout: no reply to a call in time
        :raises oslo_messaging.MessageDeliveryFailure: the broker stayed unreachable, or refused
        :raises QueueFull, MessageTooLarge: at once
        """
        if wait_for_reply:
            seconds = SEND_SECONDS if timeout is None else timeout
        else:
            seconds = 0.0 if retry == 0 else SEND_SECONDS
        is_responder = self.senders.responder_check(target.topic, target.server)
        with patience.limit_wait(seconds), rabbit_senders.expect_reply_of(is_responder):
            return super().send(
                target,
                ctxt,
                message,
                wait_for_reply=wait_for_reply,
                timeout=seconds if wait_for_reply else timeout,
                call_monitor_timeout=call_monitor_timeout,
                transport_options=transport_options,
            )

    def listen(self, target: oslo_messaging.Target, batch_size: int, batch_timeout: float | None) -> Any:
        """Consume the queues of an RPC server: its topic, if its servers share one, its own name, and fan-outs."""
        connection = self._get_connection(PURPOSE_LISTEN)
        listener = rabbit_senders.AuthenticatedListener(self, connection)
        exchange = self._get_exchange(target)
        shared_topics = () if target.topic in DIRECTED_SERVICES else (target.topic,)
        self._shared_topics.update(shared_topics)
        for topic in (*shared_topics, f"{target.topic}.{target.server}"):
            connection.declare_topic_consumer(exchange_name=exchange, topic=topic, callback=listener)
        if target.topic.partition(".")[0] not in SERVICES_WITHOUT_FANOUT:
            connection.declare_fanout_consumer(target.topic, listener)
        return PollStyleListenerAdapter(listener, batch_size, batch_timeout)

    def dead_letters(self) -> list[DeadLetter] | None:
        """Return messages to servers that could not be processed, newest first; None if this broker keeps none.

        :raises oslo_messaging.MessageDeliveryFailure: the broker stayed unreachable, or refused
        """
        return rabbit_dead_letters.read(self._get_connection)

    def waiting_messages(self) -> dict[str, int]:
        """Return how many messages wait for each topic that servers of this process share.

        :raises oslo_messaging.MessageDeliveryFailure: the broker stayed unreachable, or refused
        """
        topics = sorted(self._shared_topics)
        return rabbit_queues.lengths(self._get_connection, topics) if topics else {}

    def cleanup(self) -> None:
        """Close all connections."""
        self.dead_letter_outbox.close()
        super().cleanup()

    def _get_connection(self, purpose: str = PURPOSE_SEND, retry: int | None = None) -> Any:
        if purpose == PURPOSE_LISTEN:
            return super()._get_connection(purpose, retry)
        with patience.limit_wait_if_unbounded(SEND_SECONDS):
            return super()._get_connection(purpose, retry)

    def _get_reply_q(self) -> str:
        remaining = patience.remaining_seconds()
        if not self._reply_q_lock.acquire(timeout=-1 if remaining is None else remaining):
            raise oslo_messaging.MessageDeliveryFailure("The connection for replies could not be opened in time")
        try:
            if self._reply_q is None:
                name = self._get_reply_queue_name()
                connection = self._get_connection(PURPOSE_LISTEN)
                try:
                    self._waiter = BoundedReplyWaiter(name, connection, self._allowed_remote_exmods)
                except BaseException:
                    connection.close()
                    raise
                self._reply_q, self._reply_q_conn = name, connection
            return self._reply_q
        finally:
            self._reply_q_lock.release()
