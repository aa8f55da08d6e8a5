# SPDX-License-Identifier: Apache-2.0
"""Short operations on RabbitMQ's queues."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import amqp
import oslo_messaging

from rpcapi import tls
from rpcapi.messaging.drivers import deadline

SECONDS = 10.0  # time limit of an operation

Connect = Callable[[], AbstractContextManager[Any]]  # returns oslo.messaging's ConnectionContext


def use_channel(connection: Any, use: Callable[[amqp.Channel], Any]) -> Any:
    """Run ``use`` on a separate channel, because a refusal (AccessRefused, NotFound) closes it."""
    results: list[Any] = []
    refusals: list[Exception] = []

    def attempt() -> None:
        channel = connection.channel.connection.channel()
        try:
            results.append(use(channel))
            channel.close()
        except (amqp.AccessRefused, amqp.NotFound) as error:
            refusals.append(error)

    with connection._connection_lock:
        connection.ensure(attempt)
    if refusals:
        raise refusals[0]
    return results[-1]


def lengths(connect: Connect, queues: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    try:
        with deadline.limit_wait(SECONDS), connect() as context:
            for queue in queues:
                with contextlib.suppress(amqp.NotFound):  # such as a classic queue on a lost node
                    counts[queue] = use_channel(context.connection, functools.partial(_length, queue))
    except amqp.AccessRefused as error:
        raise oslo_messaging.MessageDeliveryFailure(f"Cannot measure queues: {tls.describe(error)}") from error
    return counts


def _length(queue: str, channel: amqp.Channel) -> int:
    length: int = channel.queue_declare(queue, passive=True).message_count
    return length
