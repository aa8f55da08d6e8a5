# SPDX-License-Identifier: Apache-2.0
"""AMQP connection whose reads end at the deadline of their thread.

py-amqp limits each read of a frame, not the wait for an answer. While RabbitMQ blocks publishers, its heartbeats are
frames without an answer, and each of them would renew the wait for the confirmation of a message.
"""

from kombu.transport import pyamqp

from rpcapi.messaging.drivers import deadline


class DeadlineConnection(pyamqp.Connection):
    """kombu's AMQP connection; its reads raise TimeoutError at the thread's deadline."""

    def blocking_read(self, timeout: float | None = None) -> bool:
        """Read and process a frame; return whether it completes a method."""
        remaining = deadline.remaining_seconds()
        if remaining is not None:
            timeout = remaining if timeout is None else min(timeout, remaining)
        is_complete: bool = super().blocking_read(timeout)
        return is_complete
