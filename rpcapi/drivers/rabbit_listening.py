# SPDX-License-Identifier: Apache-2.0
"""Listening to RabbitMQ without looking up every millisecond.

After each message the stock driver waits 1 ms for the next, then 2, then 4: it acknowledges notifications between two
waits. RPC messages are acknowledged as they come in, and nothing is to be done in between; but the longer a call
takes, the more such turns its caller and its server made meanwhile, each as dear as a fifth of an empty call.
"""

import logging
from typing import Any

from oslo_messaging._drivers import amqpdriver, common

LOG = logging.getLogger(__name__)

# Seconds of the first wait after a message, and of the longest: between waits it is seen that one was told to stop.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0


class CalmListener(amqpdriver.RpcAMQPListener):
    """An RPC server's end of the bus."""

    _wait: float

    @property
    def _current_timeout(self) -> float:
        return self._wait

    @_current_timeout.setter
    def _current_timeout(self, seconds: float) -> None:
        # The stock listener sets a millisecond, and twice as much whenever nothing came.
        self._wait = max(seconds, FIRST_WAIT)


class CalmReplyWaiter(amqpdriver.ReplyWaiter):
    """Reads the answers to a process's calls."""

    conn: Any
    _thread_exit_event: Any

    def poll(self) -> None:
        """Take in answers until told to stop."""
        wait = FIRST_WAIT
        while not self._thread_exit_event.is_set():
            try:
                self.conn.consume(timeout=wait)
            except common.Timeout:
                wait = min(2 * wait, LONGEST_WAIT)
            except Exception:  # one bad answer must not deafen the process
                LOG.exception("Failed to take in an answer; going on")
            else:
                wait = FIRST_WAIT
