# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging's RabbitMQ driver, with a separate exchange for replies.

The stock driver publishes replies through the broker's default exchange. A user with write permission there can put a
message into any queue by its name, and so can command every agent, whatever topics are denied to this
user. This driver sends replies through the exchange `gantt-replies`, and no service needs the default exchange. It is
a topic exchange, although each reply has one reader, because the broker checks routing keys only on topic exchanges.
Both ends of a bus must use the same driver: `gantt-rabbit://` in place of `rabbit://` in the transport URL.
"""

import copy
from typing import Any

import kombu
import oslo_messaging
from oslo_messaging._drivers import impl_rabbit

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.bounded_rabbit import SEND_SECONDS, BoundedConnection, BoundedRabbitDriver

REPLY_EXCHANGE = "gantt-replies"


class ConfinedConnection(BoundedConnection):
    """A connection that declares reply queues on, and publishes replies through, REPLY_EXCHANGE."""

    def declare_direct_consumer(self, topic: str, callback: Any) -> None:
        """Consume the reply queue named `topic`, bound to the reply exchange by its name."""
        consumer = impl_rabbit.Consumer(
            exchange_name=REPLY_EXCHANGE,
            queue_name=topic,
            routing_key=topic,
            type="topic",
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
