# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver, whose sends end in time while the broker is away.

The stock driver opens the connection for its replies, and sends answers of servers, without any limit: a call with
a timeout of five seconds hangs for as long as the broker is away, and a server that holds an answer cannot stop.
Here whatever a caller or an answering server waits for ends with the call's timeout, or after SEND_SECONDS, as
MessageDeliveryFailure or MessagingTimeout. Listening goes on for ever: it is what brings a server back.
"""

import threading
import time
from typing import Any

import amqp
import kombu
import oslo_messaging
from oslo_messaging._drivers import base, common, impl_rabbit, pool

from rpcapi.drivers import patience, rabbit_listening

# How long a cast, or an answer to a caller, is tried: a broker's quick restart is outlived.
SEND_SECONDS = 10.0
# Between two attempts to connect.
PAUSE = 1.0
# A broker that takes no connection within these seconds is away.
CONNECT_SECONDS = 5.0
LEAST_SECONDS = 1.0
# RabbitMQ counts in milliseconds, and hands a message that may live for none of them to whoever waits for one.
LEAST_TTL = 0.001


class BoundedConnection(impl_rabbit.Connection):
    """A connection of the stock driver that minds the patience of the thread which uses it."""

    max_retries: int | None

    def ensure_connection(self) -> None:
        """Connect, or reconnect.

        :raises oslo_messaging.MessageDeliveryFailure: at the end of the thread's patience, or when not let in
        """
        left = patience.left()
        if left is None and self.purpose == common.PURPOSE_LISTEN:
            super().ensure_connection()
            return
        # None is left to the heartbeat's thread: it holds the lock that a sender waits for, and so it tries once.
        deadline = time.monotonic() + (left or 0.0)
        retries, self.max_retries = self.max_retries, 0
        try:
            while not self._connected(deadline):
                time.sleep(PAUSE)
        finally:
            self.max_retries = retries

    def _connected(self, deadline: float) -> bool:
        now = time.monotonic()
        self.connection.connect_timeout = max(LEAST_SECONDS, min(CONNECT_SECONDS, deadline - now))
        try:
            super().ensure_connection()
        except (kombu.exceptions.OperationalError, OSError) as error:
            # Tried once, kombu has not turned to the next host by itself.
            self.connection.maybe_switch_next()
            if time.monotonic() + PAUSE >= deadline:
                raise self._away(error) from error
            return False
        except amqp.AMQPError as error:
            raise self._away(error) from error
        return True

    def ensure(
        self,
        method: Any,
        retry: int | None = None,
        recoverable_error_callback: Any = None,
        error_callback: Any = None,
        timeout_is_error: bool = True,
    ) -> Any:
        """Do it, reconnecting as needed until the thread's patience ends.

        :raises oslo_messaging.MessageDeliveryFailure: when the broker stayed away, or refused
        """
        left = patience.left()
        if left is None:
            return super().ensure(method, retry, recoverable_error_callback, error_callback, timeout_is_error)
        deadline = time.monotonic() + left
        self.interval_max = self.interval_start
        pause = self.kombu_reconnect_delay + self.interval_start
        gave_up: list[Exception] = []

        def go_on(error: Exception) -> None:
            if recoverable_error_callback:
                recoverable_error_callback(error)
            if time.monotonic() + pause >= deadline:
                gave_up.append(error)
                raise self._away(error)

        try:
            return super().ensure(method, retry, go_on, error_callback, timeout_is_error)
        except oslo_messaging.MessageDeliveryFailure as error:
            # Its own text counts tries ("after inf tries"), where what counts here is time.
            why = gave_up[-1] if gave_up else error.__context__ or error
            raise self._away(why) from why

    def _publish(
        self,
        exchange: Any,
        msg: Any,
        routing_key: str | None = None,
        timeout: float | None = None,
        transport_options: Any = None,
    ) -> None:
        left = patience.left()
        if timeout is not None and left is not None:
            # The stock driver lets a call live in its queue for the whole timeout from now on: where connecting took
            # a part of it, a server would still run the call after its caller has given it up.
            timeout = min(timeout, left)
            if timeout < LEAST_TTL:
                raise oslo_messaging.MessageDeliveryFailure("Connecting took all of the call's time")
        super()._publish(exchange, msg, routing_key, timeout, transport_options)

    def _transport_socket_timeout(self, timeout: float | None) -> Any:
        left = patience.left()
        if left is not None:
            # A broker that hangs never confirms what was published.
            timeout = max(LEAST_SECONDS, left if timeout is None else min(left, timeout))
        return super()._transport_socket_timeout(timeout)

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Publish an answer, for SEND_SECONDS at most."""
        with patience.at_least_bounded(SEND_SECONDS):
            super().direct_send(msg_id, msg)

    def _away(self, error: Exception) -> oslo_messaging.MessageDeliveryFailure:
        where = self.connection.info()
        why = str(error) or type(error).__name__
        return oslo_messaging.MessageDeliveryFailure(
            f"RabbitMQ at {where['hostname']}:{where['port']} does not serve: {why}"
        )


class BoundedPool(pool.ConnectionPool):
    """The stock pool, where the wait for a free connection ends too."""

    def __init__(self, max_size: int, *args: Any) -> None:
        super().__init__(*args)
        self._places = threading.BoundedSemaphore(max_size)

    @classmethod
    def like(cls, stock: pool.ConnectionPool, connection_cls: type[BoundedConnection]) -> "BoundedPool":
        """A pool of the same size, of the given connections."""
        sizes = stock._max_size, stock._min_size, stock._item_ttl
        return cls(stock._max_size, stock.conf, *sizes, stock.url, connection_cls)

    def get(self, retry: int | None = None) -> Any:
        """Take a connection out.

        :raises oslo_messaging.MessageDeliveryFailure: when none is free, or can be made, in time
        """
        if not self._places.acquire(timeout=patience.left()):
            raise oslo_messaging.MessageDeliveryFailure(
                "All connections to RabbitMQ are in use and none came free in time: it is slow or away, or "
                "[oslo_messaging_rabbit] rpc_conn_pool_size is too low."
            )
        try:
            return super().get(retry)
        except BaseException:
            self._places.release()
            raise

    def put(self, item: Any) -> None:
        """Give a connection back."""
        super().put(item)
        self._places.release()


class BoundedReplyWaiter(rabbit_listening.CalmReplyWaiter):
    """Waits for an answer only as long as connecting and sending have left of the caller's time."""

    def wait(self, msg_id: str, timeout: float | None, call_monitor_timeout: float | None, reply_q: str) -> Any:
        """What the server answered; raises MessagingTimeout."""
        left = patience.left()
        return super().wait(msg_id, timeout if left is None else left, call_monitor_timeout, reply_q)


class BoundedRabbitDriver(impl_rabbit.RabbitDriver):
    """The driver that bus.get_transport takes for `rabbit://`; options as of the stock one."""

    connection_cls: type[BoundedConnection] = BoundedConnection
    _connection_pool: Any
    _reply_q: str | None

    def __init__(self, conf: Any, url: oslo_messaging.TransportURL, *args: Any, **kwargs: Any) -> None:
        super().__init__(conf, url, *args, **kwargs)
        # Connections are made when first needed: none of the stock class exists yet.
        self._connection_pool = BoundedPool.like(self._connection_pool, self.connection_cls)

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
        """Call within `timeout`, or cast within SEND_SECONDS; `retry` 0 tries a cast once, other values mean nothing.

        :raises oslo_messaging.MessagingTimeout: no answer to a call in time
        :raises oslo_messaging.MessageDeliveryFailure: the broker stayed away, or refused
        """
        if wait_for_reply:
            seconds = SEND_SECONDS if timeout is None else timeout
        else:
            seconds = 0.0 if retry == 0 else SEND_SECONDS
        with patience.within(seconds):
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
        """Listen for an RPC server: to its topic, to its own name, and to what is fanned out."""
        connection = self._get_connection(common.PURPOSE_LISTEN)
        listener = rabbit_listening.CalmListener(self, connection)
        exchange = self._get_exchange(target)
        for topic in (target.topic, f"{target.topic}.{target.server}"):
            connection.declare_topic_consumer(exchange_name=exchange, topic=topic, callback=listener)
        connection.declare_fanout_consumer(target.topic, listener)
        return base.PollStyleListenerAdapter(listener, batch_size, batch_timeout)

    def _get_connection(self, purpose: str = common.PURPOSE_SEND, retry: int | None = None) -> Any:
        if purpose == common.PURPOSE_LISTEN:
            return super()._get_connection(purpose, retry)
        with patience.at_least_bounded(SEND_SECONDS):
            return super()._get_connection(purpose, retry)

    def _get_reply_q(self) -> str:
        left = patience.left()
        if not self._reply_q_lock.acquire(timeout=-1 if left is None else left):
            raise oslo_messaging.MessageDeliveryFailure("The connection for replies could not be opened in time")
        try:
            if self._reply_q is None:
                name = self._get_reply_queue_name()
                connection = self._get_connection(common.PURPOSE_LISTEN)
                try:
                    self._waiter = BoundedReplyWaiter(name, connection, self._allowed_remote_exmods)
                except BaseException:
                    connection.close()
                    raise
                self._reply_q, self._reply_q_conn = name, connection
            return self._reply_q
        finally:
            self._reply_q_lock.release()
