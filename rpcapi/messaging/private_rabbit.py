# SPDX-License-Identifier: Apache-2.0
"""Names from private modules of oslo.messaging's RabbitMQ driver, whose import other buses do not need."""

from oslo_messaging._drivers.amqp import AMQPDestinationNotFound, unpack_context
from oslo_messaging._drivers.amqpdriver import (
    AMQPIncomingMessage,
    NotificationAMQPListener,
    ReplyWaiter,
    RpcAMQPListener,
)
from oslo_messaging._drivers.impl_rabbit import Connection, Consumer, RabbitDriver, RabbitMessage
from oslo_messaging._drivers.pool import ConnectionPool
