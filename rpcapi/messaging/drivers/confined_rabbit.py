# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver with bounded waits and a separate exchange for replies.

Waits. The stock driver opens its reply connection and sends replies without a time limit: while the broker is down, a
call with a timeout of five seconds hangs, and a server with a pending reply cannot stop. Here all waits of callers and
replying servers end after the call's timeout or SEND_SECONDS, with MessageDeliveryFailure or MessagingTimeout.
Listening has no limit, so that servers recover when the broker returns.

Replies. The stock driver sends replies through the default exchange. A user who may write there can put a message into
any queue by name, and so command every agent, regardless of the permissions on topics. This driver uses the exchange
`gantt-replies`, and no service needs the default exchange. It is a topic exchange, although each reply has one reader,
because the broker checks routing keys only on topic exchanges.

Names. Queues of a process carry its user's name, `reply.USER.RANDOM` and `TOPIC_fanout.USER.RANDOM`, so that
permissions can separate users. The deployment creates the exchanges: permission to declare one includes permission to
delete it, together with everybody's messages.
"""

import functools
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
    rabbit_tls,
)
from rpcapi.messaging.drivers.dead_letters import DeadLetter
from rpcapi.messaging.drivers.rabbit_connection import RabbitConnection
from rpcapi.messaging.drivers.rabbit_listening import RabbitListener
from rpcapi.messaging.drivers.rabbit_pool import BoundedPool
from rpcapi.messaging.drivers.rabbit_replies import RabbitReplyWaiter, expect_reply_of
from rpcapi.messaging.private import PURPOSE_LISTEN, PURPOSE_SEND, PollStyleListenerAdapter
from rpcapi.messaging.private_rabbit import RabbitDriver

# Seconds for a broker's restart, and for each further host of the URL, which may cost
# rabbit_connection.CONNECT_SECONDS.
CONNECT_SECONDS, NEXT_HOST_SECONDS = 5.0, 6.0


class ConfinedRabbitDriver(RabbitDriver):
    """Driver of `gantt-rabbit://user:password@host:port/vhost` and `rabbit://`; options as in the stock driver.

    Raises BadConfiguration if TLS files cannot be used.
    """

    _connection_pool: Any
    _reply_q: str | None

    def __init__(self, conf: Any, url: oslo_messaging.TransportURL, *args: Any, **kwargs: Any) -> None:
        # The stock connection derives kombu's scheme from this name: rabbit_tls.SCHEME.
        url.transport = "gantt-rabbit"
        super().__init__(conf, url, *args, **kwargs)
        rabbit_tls.check(self.conf.oslo_messaging_rabbit)
        # Replaced in time: the stock pool opens connections on first use.
        self._connection_pool = BoundedPool.with_sizes_of(self._connection_pool, RabbitConnection)
        self._shared_topics: set[str] = set()  # topics, and queue names, of servers of this process
        self.dead_letter_outbox = rabbit_dead_letters.DeadLetterOutbox(
            functools.partial(rabbit_dead_letters.write, self._get_connection)
        )

    @functools.cached_property
    def senders(self) -> SenderDirectory:
        return SenderDirectory.of_patterns(self.conf.rpc.shared_agent_hosts)

    def connect(self) -> None:
        """Open a connection for sending; raises MessageDeliveryFailure if no broker of the URL accepts it in time."""
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
        """Call within `timeout`, or cast within SEND_SECONDS; `retry` 0 tries a cast once, other values are ignored.

        Raises MessagingTimeout without a reply, MessageDeliveryFailure if the broker is unreachable or refuses, and
        QueueFull or MessageTooLarge without retries.
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
        """Consume the queues of an RPC server: shared topic (if any), own name, and fan-out."""
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
        """Return dead letters, newest first; None if this broker keeps none. Raises MessageDeliveryFailure."""
        return rabbit_dead_letters.read(self._get_connection)

    def waiting_messages(self) -> dict[str, int]:
        """Return the number of waiting messages per topic of this process's servers; raises MessageDeliveryFailure."""
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
