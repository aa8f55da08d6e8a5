# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ channels for queries that oslo.messaging does not offer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oslo_messaging.transport import RPCTransport

from rpcapi.messaging.private import PURPOSE_SEND


def is_rabbit(transport: RPCTransport) -> bool:
    return getattr(transport._driver, "_get_connection", None) is not None


@contextmanager
def open_channel(transport: RPCTransport) -> Iterator[Any]:
    """Yield a channel on an exclusive connection, locked against the heartbeat thread. Raises broker errors."""
    with transport._driver._get_connection(PURPOSE_SEND) as pooled:
        connection = pooled.connection
        with connection._connection_lock, connection.connection.channel() as channel:
            yield channel


def may_be_waiting(transport: RPCTransport, incoming: Any) -> bool:
    """Return whether the caller may still wait. RabbitMQ deletes the reply queue of a dead caller."""
    queue = getattr(incoming, "reply_q", None)
    if not queue or not is_rabbit(transport):
        return True
    try:
        with open_channel(transport) as channel:
            channel.queue_declare(queue, passive=True)
    except Exception as error:
        return "NOT_FOUND" not in str(error)
    return True
