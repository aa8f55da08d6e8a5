# SPDX-License-Identifier: Apache-2.0
"""Pool of RabbitMQ connections for sending."""

import functools
import threading
import uuid
from typing import Any

import oslo_messaging

from rpcapi.access.senders import DIRECTED_SERVICES, SERVICES_WITHOUT_FANOUT, SenderDirectory
from rpcapi.messaging.drivers import (
    deadline,
    rabbit_connection,
    rabbit_dead_letters,
    rabbit_queues,
    rabbit_senders,
    rabbit_transport,
)
from rpcapi.messaging.drivers.dead_letters import DeadLetter
from rpcapi.messaging.drivers.rabbit_connection import RabbitConnection
from rpcapi.messaging.drivers.rabbit_listening import RabbitListener, RabbitReplyWaiter, expect_reply_of
from rpcapi.messaging.private import PURPOSE_LISTEN, PURPOSE_SEND, PollStyleListenerAdapter
from rpcapi.messaging.private_rabbit import ConnectionPool, RabbitDriver

# Seconds for the first host of a URL, enough for a broker's restart, and for each further host.
CONNECT_SECONDS, NEXT_HOST_SECONDS = 5.0, 6.0


class BoundedPool(ConnectionPool):
    def __init__(self, max_size: int, *args: Any) -> None:
        super().__init__(*args)
        self._slots = threading.BoundedSemaphore(max_size)

    @classmethod
    def with_sizes_of(cls, stock: ConnectionPool, connection_cls: type[Any]) -> "BoundedPool":
        sizes = stock._max_size, stock._min_size, stock._item_ttl
        return cls(stock._max_size, stock.conf, *sizes, stock.url, connection_cls)

    def get(self, retry: int | None = None) -> Any:
        """Take a connection; raises MessageDeliveryFailure at the thread's deadline."""
        if not self._slots.acquire(timeout=deadline.remaining_seconds()):
            raise oslo_messaging.MessageDeliveryFailure(
                "No connection to RabbitMQ became free in time: RabbitMQ is slow or unreachable, or "
                "[oslo_messaging_rabbit] rpc_conn_pool_size is too low."
            )
        try:
            return super().get(retry)
        except BaseException:
            self._slots.release()
            raise

    def put(self, item: Any) -> None:
        super().put(item)
        self._slots.release()


class ConfinedRabbitDriver(RabbitDriver):
    """Driver of `gantt-rabbit://` and `rabbit://`. Raises BadConfiguration for unusable TLS files."""

    _connection_pool: Any
    _reply_q: str | None

    def __init__(self, conf: Any, url: oslo_messaging.TransportURL, *args: Any, **kwargs: Any) -> None:
        # oslo.messaging derives rabbit_transport.SCHEME from this name.
        url.transport = "gantt-rabbit"
        super().__init__(conf, url, *args, **kwargs)
        rabbit_transport.check(self.conf.oslo_messaging_rabbit)
        self._connection_pool = BoundedPool.with_sizes_of(self._connection_pool, RabbitConnection)
        self._shared_topics: set[str] = set()  # topics, and so queue names, of this process's servers
        self.dead_letter_outbox = rabbit_dead_letters.DeadLetterOutbox(
            functools.partial(rabbit_dead_letters.write, self._get_connection)
        )

    @functools.cached_property
    def senders(self) -> SenderDirectory:
        return SenderDirectory.of_patterns(self.conf.rpc.shared_agent_hosts)

    def connect(self) -> None:
        seconds = CONNECT_SECONDS + NEXT_HOST_SECONDS * max(0, len(self._url.hosts) - 1)
        with deadline.limit_wait(seconds), self._get_connection():
            pass

    def send(
        self,
        target: oslo_messaging.Target,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        *,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        retry: int | None = None,
        **options: Any,
    ) -> Any:
        """Call within `timeout`, or cast within SEND_SECONDS; `retry` 0 tries a cast once.

        QueueFull and MessageTooLarge are raised at once, MessageDeliveryFailure and MessagingTimeout at the deadline.
        """
        if wait_for_reply:
            seconds = rabbit_connection.SEND_SECONDS if timeout is None else timeout
        else:
            seconds = 0.0 if retry == 0 else rabbit_connection.SEND_SECONDS
        is_responder = self.senders.responder_check(target.topic, target.server)
        with deadline.limit_wait(seconds), expect_reply_of(is_responder):
            limit = seconds if wait_for_reply else timeout
            return super().send(target, ctxt, message, wait_for_reply=wait_for_reply, timeout=limit, **options)

    def listen(self, target: oslo_messaging.Target, batch_size: int, batch_timeout: float | None) -> Any:
        connection = self._get_connection(PURPOSE_LISTEN)
        listener = RabbitListener(self, connection)
        exchange = self._get_exchange(target)
        shared_topics = () if target.topic in DIRECTED_SERVICES else (target.topic,)
        self._shared_topics.update(shared_topics)
        for topic in (*shared_topics, f"{target.topic}.{target.server}"):
            connection.declare_topic_consumer(exchange_name=exchange, topic=topic, callback=listener)
        if target.topic.partition(".")[0] not in SERVICES_WITHOUT_FANOUT:
            connection.declare_fanout_consumer(target.topic, listener)
        return PollStyleListenerAdapter(listener, batch_size, batch_timeout)

    def dead_letters(self) -> list[DeadLetter] | None:
        return rabbit_dead_letters.read(self._get_connection)

    def waiting_messages(self) -> dict[str, int]:
        topics = sorted(self._shared_topics)
        return rabbit_queues.lengths(self._get_connection, topics) if topics else {}

    def cleanup(self) -> None:
        self.dead_letter_outbox.close()
        super().cleanup()

    def _get_connection(self, purpose: str = PURPOSE_SEND, retry: int | None = None) -> Any:
        if purpose == PURPOSE_LISTEN:
            return super()._get_connection(purpose, retry)
        with deadline.limit_wait_if_unbounded(rabbit_connection.SEND_SECONDS):
            return super()._get_connection(purpose, retry)

    def _get_reply_q(self) -> str:
        remaining = deadline.remaining_seconds()
        if not self._reply_q_lock.acquire(timeout=-1 if remaining is None else remaining):
            raise oslo_messaging.MessageDeliveryFailure("The connection for replies could not be opened in time")
        try:
            if self._reply_q is None:
                name = self._get_reply_queue_name()
                connection = self._get_connection(PURPOSE_LISTEN)
                try:
                    self._waiter = RabbitReplyWaiter(name, connection, self._allowed_remote_exmods)
                except BaseException:
                    connection.close()
                    raise
                self._reply_q, self._reply_q_conn = name, connection
            return self._reply_q
        finally:
            self._reply_q_lock.release()

    def _get_reply_queue_name(self) -> str:
        user = next((host.username for host in self._url.hosts if host.username), rabbit_senders.DEFAULT_USER)
        return f"reply.{user}.{uuid.uuid4().hex}"
