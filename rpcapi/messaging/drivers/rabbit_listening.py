# SPDX-License-Identifier: Apache-2.0
"""Listeners for RabbitMQ that poll with long waits instead of every millisecond, and answer without waiting.

After each message the stock driver waits 1 ms for the next, then 2, then 4, because it acknowledges notifications
between two waits. RPC messages are acknowledged on receipt, so the short waits only cost time: each costs a fifth of
an empty call, in the caller and in the server, and their number grows with the duration of the call.
"""

import logging
from typing import Any

import oslo_messaging

from rpcapi.messaging.drivers.errors import MessageTooLarge
from rpcapi.messaging.private import PURPOSE_SEND, Timeout
from rpcapi.messaging.private_rabbit import AMQPDestinationNotFound, AMQPIncomingMessage, ReplyWaiter, RpcAMQPListener

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


class LongPollListener(RpcAMQPListener):
    """The listener of an RPC server."""

    message_cls = PromptIncomingMessage

    _shutoff: Any
    _wait: float

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


class LongPollReplyWaiter(ReplyWaiter):
    """Reads the replies to a process's calls."""

    conn: Any
    _thread_exit_event: Any

    def poll(self) -> None:
        """Read replies until the waiter is stopped."""
        wait = FIRST_WAIT
        while not self._thread_exit_event.is_set():
            try:
                self.conn.consume(timeout=wait)
            except Timeout:
                wait = min(2 * wait, LONGEST_WAIT)
            except Exception:  # one bad reply must not stop the reader
                LOG.exception("Failed to process a reply; continuing")
            else:
                wait = FIRST_WAIT
