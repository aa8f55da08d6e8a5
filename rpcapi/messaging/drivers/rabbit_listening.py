# SPDX-License-Identifier: Apache-2.0
"""Listeners of RPC servers on RabbitMQ, without the stock driver's short polls.

After each message the stock driver polls for 1, 2, 4, ... ms, which only notifications need, and which costs a fifth of
an empty call.
"""

import logging
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.drivers.rabbit_senders import CONTEXT_SENDER, user_of
from rpcapi.messaging.private import PURPOSE_SEND
from rpcapi.messaging.private_rabbit import AMQPDestinationNotFound, AMQPIncomingMessage, RpcAMQPListener

LOG = logging.getLogger(__name__)

# Seconds of the first poll after a message, and of the longest poll. A stop waits for the current poll.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0


class PromptIncomingMessage(AMQPIncomingMessage):
    """Received message whose reply is sent once: with retries, dead callers could occupy all threads."""

    listener: Any

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        if not self.orig_msg_id:  # a cast
            return
        try:
            with self.listener.driver._get_connection(PURPOSE_SEND) as connection:
                self._send_reply(connection, reply, failure)
        except MessageTooLarge:
            raise
        except (oslo_messaging.MessageUndeliverable, AMQPDestinationNotFound):
            LOG.warning("The reply queue %s is gone: dropped the reply %s", self.reply_q, self.msg_id)


class RabbitListener(RpcAMQPListener):
    message_cls = PromptIncomingMessage

    _shutoff: Any
    _wait: float

    def __call__(self, message: Any) -> None:
        message[CONTEXT_SENDER] = user_of(message)
        super().__call__(message)

    @property
    def is_closing(self) -> bool:
        """Whether a message accepted now would never run."""
        return bool(self._shutoff.is_set())

    @property
    def _current_timeout(self) -> float:
        return self._wait

    @_current_timeout.setter
    def _current_timeout(self, seconds: float) -> None:
        # The stock listener starts at 1 ms and doubles the timeout on every empty poll.
        self._wait = max(seconds, FIRST_WAIT)
