# SPDX-License-Identifier: Apache-2.0
"""Listeners of RPC servers on RabbitMQ that poll with long waits, and answer without waiting.

After each message the stock driver waits 1 ms for the next, then 2, then 4, because it acknowledges notifications
between two waits. RPC messages are acknowledged on receipt, so the short waits only cost time: each costs a fifth of
an empty call, in the caller and in the server, and their number grows with the duration of the call.
"""

import logging
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.drivers.rabbit_senders import CONTEXT_SENDER, user_of
from rpcapi.messaging.private import PURPOSE_SEND
from rpcapi.messaging.private_rabbit import AMQPDestinationNotFound, AMQPIncomingMessage, RpcAMQPListener

LOG = logging.getLogger(__name__)

# Seconds of the first wait after a message, and of the longest wait. A stop is noticed between waits.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0


class PromptIncomingMessage(AMQPIncomingMessage):
    """A received message whose answer is sent once.

    The stock driver tries for seconds while the caller's reply queue is missing, in a thread of the server's executor:
    a thousand calls whose callers are gone would occupy them all.
    """

    listener: Any

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Send the answer; one log line if the caller's reply queue is gone. Raises MessageTooLarge."""
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
    """Listener of an RPC server that adds the sender to each request context, whatever the body says."""

    message_cls = PromptIncomingMessage

    _shutoff: Any
    _wait: float

    def __call__(self, message: Any) -> None:
        message[CONTEXT_SENDER] = user_of(message)
        super().__call__(message)

    @property
    def is_closing(self) -> bool:
        """Whether the listener has stopped: a message accepted now would never run."""
        return bool(self._shutoff.is_set())

    @property
    def _current_timeout(self) -> float:
        return self._wait

    @_current_timeout.setter
    def _current_timeout(self, seconds: float) -> None:
        # The stock listener sets 1 ms, and doubles it whenever nothing arrived.
        self._wait = max(seconds, FIRST_WAIT)
