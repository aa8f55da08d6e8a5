# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver, with a separate exchange for replies.

The stock driver publishes replies through the broker's default exchange. A user with write permission there can put a
message into any queue by its name, and so can command every agent, whatever topics are denied to this
user. This driver sends replies through the exchange `gantt-replies`, and no service needs the default exchange. It is
a topic exchange, although each reply has one reader, because the broker checks routing keys only on topic exchanges.

Queues of a process carry its user's name: `reply.USER.RANDOM` and `TOPIC_fanout.USER.RANDOM`, so that permissions can
separate users. Exchanges belong to the deployment, which creates them: the permission to declare one is also that to
delete it, and with it everybody's messages.
Both ends of a bus must use the same driver: `gantt-rabbit://` in place of `rabbit://` in the transport URL.
"""

import copy
import logging
import uuid
from typing import Any

import amqp
import kombu
import oslo_messaging

from rpcapi.access.rabbit_users import DEPLOYED_EXCHANGES, REPLY_EXCHANGE
from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.bounded_rabbit import SEND_SECONDS, BoundedConnection, BoundedRabbitDriver
from rpcapi.messaging.drivers.rabbit_bindings import BindingCheck
from rpcapi.messaging.drivers.rabbit_senders import DEFAULT_USER
from rpcapi.messaging.private_rabbit import Consumer

LOG = logging.getLogger(__name__)


class DeployedExchange(kombu.entity.Exchange):
    """An exchange that the deployment has created; it is declared only if it is missing."""

    @classmethod
    def of(cls, stock: kombu.entity.Exchange) -> "DeployedExchange":
        """Return the exchange that a stock one describes, bound to no channel, as definitions have it.

        One that they do not have, such as that of notifications, stays as its other publishers declare it.
        """
        if stock.name in DEPLOYED_EXCHANGES:
            return cls(name=stock.name, type=stock.type, durable=True, auto_delete=False)
        return cls(name=stock.name, type=stock.type, durable=stock.durable, auto_delete=stock.auto_delete)

    def declare(self, nowait: bool = False, passive: bool | None = None, channel: Any = None) -> Any:
        """Check that the exchange exists; create it if it does not and this user may."""
        channel = channel or self.channel
        if channel.connection is None:  # the broker closed the channel after an error; a retry opens another one
            raise amqp.RecoverableConnectionError("the channel is closed")
        # A failed check closes its channel.
        check = channel.connection.channel()
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


class ConfinedConnection(BoundedConnection):
    """A connection that declares reply queues on, and publishes replies through, REPLY_EXCHANGE."""

    channel: Any
    _declared_exchanges: set[str]
    _consumers: dict[Any, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._binding_check = BindingCheck()
        super().__init__(*args, **kwargs)

    def consume(self, timeout: float | None = None) -> None:
        """Consume from all queues until something arrives; from time to time check their bindings instead."""
        connection = None if self.channel is None else self.channel.connection  # None: closed
        if connection is None or not self._binding_check.is_due:
            super().consume(timeout)
            return
        with self._connection_lock:
            try:
                self._binding_check.run(connection, list(self._consumers))
            except (amqp.AMQPError, OSError) as error:
                LOG.info("The bindings were not checked: %s", error)  # consuming connects again

    def declare_consumer(self, consumer: Consumer) -> None:
        """Consume a queue, on an exchange of the deployment."""
        consumer.exchange = DeployedExchange.of(consumer.exchange)
        super().declare_consumer(consumer)

    def declare_fanout_consumer(self, topic: str, callback: Any) -> None:
        """Consume a fanout queue of this process."""
        queue = f"{topic}_fanout.{self.connection.userid}.{uuid.uuid4().hex}"
        self._consume_transient(f"{topic}_fanout", "fanout", queue, topic, callback)

    def _publish(self, exchange: Any, *arguments: Any, **options: Any) -> None:
        if not (exchange.passive or exchange.name in self._declared_exchanges):
            DeployedExchange.of(exchange)(self.channel).declare()
            self._declared_exchanges.add(exchange.name)
        super()._publish(exchange, *arguments, **options)

    def declare_direct_consumer(self, topic: str, callback: Any) -> None:
        """Consume the reply queue named `topic`, bound to the reply exchange by its name."""
        self._consume_transient(REPLY_EXCHANGE, "topic", topic, topic, callback)

    def _consume_transient(self, exchange: str, kind: str, queue: str, routing_key: str, callback: Any) -> None:
        """Consume a queue of this process, which expires some time after it."""
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

    def direct_send(self, msg_id: str, msg: Any) -> None:
        """Publish a reply to the reply queue named `msg_id`.

        Raises the stock driver's AMQPDestinationNotFound or MessageUndeliverable when the caller is gone.
        """
        exchange = kombu.entity.Exchange(
            name=REPLY_EXCHANGE,
            type="topic",
            durable=self.rabbit_transient_quorum_queue,
            auto_delete=False,
            # The caller declared it before its call; declaring it here would hide that the caller is gone.
            passive=True,
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


class ConfinedRabbitDriver(BoundedRabbitDriver):
    """The driver behind `gantt-rabbit://user:password@host:port/vhost`; options as for `rabbit://`."""

    connection_cls = ConfinedConnection

    def __init__(self, conf: Any, url: oslo_messaging.TransportURL, *args: Any, **kwargs: Any) -> None:
        # The stock connection derives kombu's scheme from the URL's and knows only its own.
        stock_url = copy.copy(url)
        stock_url.transport = "rabbit"
        super().__init__(conf, stock_url, *args, **kwargs)

    def _get_reply_queue_name(self) -> str:
        user = next((host.username for host in self._url.hosts if host.username), DEFAULT_USER)
        return f"reply.{user}.{uuid.uuid4().hex}"
