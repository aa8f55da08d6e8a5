# SPDX-License-Identifier: Apache-2.0
"""Is the bus there? Asked at start, before servers are: where it is away, starting one blocks without an end."""

from typing import Any

import oslo_messaging as messaging
from kombu import exceptions as kombu_exceptions

from rpcapi import bus, context, errors
from rpcapi.serializer import GanttSerializer

NOBODY = "nobody"


def probe_bus(transport: Any, topic: str) -> None:
    """Send one message to a server of ``topic`` that does not exist; raises Unavailable where that cannot be sent.

    ``topic`` must be one that this service's broker user may publish to.
    """
    target = messaging.Target(topic=topic, server=NOBODY)
    client = bus.get_client(transport, target, serializer=GanttSerializer())
    try:
        client.prepare(retry=0).cast(context.new().within(1), "probe")
    except (messaging.MessagingException, kombu_exceptions.KombuError, OSError) as error:
        raise errors.Unavailable(what="The message bus", why=str(error) or type(error).__name__) from error
