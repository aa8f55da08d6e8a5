# SPDX-License-Identifier: Apache-2.0
"""Checks that the bus is reachable before servers start: starting one blocks for ever while the bus is down."""

from typing import Any

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions

from rpcapi import context, errors
from rpcapi.messaging import bus
from rpcapi.messaging.drivers.rabbit_returns import ABSENT_SERVER
from rpcapi.serializer import GanttSerializer


def probe_bus(transport: Any, topic: str) -> None:
    """Send one message to a nonexistent server of ``topic``; raises Unavailable if it cannot be sent.

    This service's broker user must have permission to publish to ``topic``.
    """
    target = messaging.Target(topic=topic, server=ABSENT_SERVER)
    client = bus.get_client(transport, target, serializer=GanttSerializer())
    try:
        client.prepare(retry=0).cast(context.new().with_timeout(1), "probe")
    except (messaging.MessagingException, kombu_exceptions.KombuError, OSError) as error:
        raise errors.Unavailable(what="The message bus", why=str(error) or type(error).__name__) from error
