# SPDX-License-Identifier: Apache-2.0
"""AMQP connection whose reads end at their thread's deadline.

py-amqp limits each read of a frame, not the wait for an answer: while RabbitMQ blocks publishers, each heartbeat would
restart the wait for a publisher confirm.
"""

from kombu.transport import pyamqp

from rpcapi.messaging.drivers import deadline


class DeadlineConnection(pyamqp.Connection):
    """kombu's AMQP connection; reads raise TimeoutError at the thread's deadline."""

    def blocking_read(self, timeout: float | None = None) -> bool:
        remaining = deadline.remaining_seconds()
        if remaining is not None:
            timeout = remaining if timeout is None else min(timeout, remaining)
        is_complete: bool = super().blocking_read(timeout)
        return is_complete
