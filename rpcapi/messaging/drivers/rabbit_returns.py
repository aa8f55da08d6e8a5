# SPDX-License-Identifier: Apache-2.0
"""Log of messages that RabbitMQ returns because no queue is bound to their routing key."""

import logging
import time

LOG = logging.getLogger(__name__)

REPEAT_SECONDS = 60.0  # between two log lines about the same key
MAX_KEYS = 1000

_logged: dict[tuple[str, str], float] = {}  # time of the last log line by (exchange, routing key)


def report_unroutable(exchange: str, routing_key: str) -> None:
    """Log a dropped message, at most MAX_KEYS lines a minute and one per key."""
    key, now = (exchange, routing_key), time.monotonic()
    if now < _logged.get(key, now - REPEAT_SECONDS) + REPEAT_SECONDS:
        return
    if len(_logged) >= MAX_KEYS:
        for other in [other for other, logged_at in list(_logged.items()) if logged_at + REPEAT_SECONDS <= now]:
            _logged.pop(other, None)
    if len(_logged) < MAX_KEYS:
        _logged[key] = now
        LOG.warning(
            "Dropped a message: no queue is bound to key %r of exchange %r; its server does not run, or the binding "
            "is missing",
            routing_key,
            exchange,
        )
