# SPDX-License-Identifier: Apache-2.0
"""A channel to RabbitMQ, for questions that oslo.messaging has no call for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oslo_messaging.transport import RPCTransport

from rpcapi.messaging.private import PURPOSE_SEND


def is_rabbit(transport: RPCTransport) -> bool:
    """Return whether the transport's broker is RabbitMQ."""
    return getattr(transport._driver, "_get_connection", None) is not None


@contextmanager
def open_channel(transport: RPCTransport) -> Iterator[Any]:
    """Yield a channel of a pooled connection, which nobody else uses meanwhile; raises what the broker answers.

    The lock keeps the connection's heartbeat thread away, which would read the answer and leave the caller waiting.
    """
    with transport._driver._get_connection(PURPOSE_SEND) as pooled:
        connection = pooled.connection
        with connection._connection_lock, connection.connection.channel() as channel:
            yield channel


def may_be_waiting(transport: RPCTransport, incoming: Any) -> bool:
    """Return whether the caller of a message may still receive an answer; True where that is unknown.

    RabbitMQ deletes the reply queue of a caller some time after its process.
    """
    queue = getattr(incoming, "reply_q", None)
    if not queue or not is_rabbit(transport):
        return True
    try:
        with open_channel(transport) as channel:
            channel.queue_declare(queue, passive=True)
    except Exception as error:
        return "NOT_FOUND" not in str(error)
    return True
