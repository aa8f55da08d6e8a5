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
