# SPDX-License-Identifier: Apache-2.0
"""Metrics of the message bus for a worker that serves on it."""

from collections.abc import Callable

from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from rpcapi.background import Periodic
from rpcapi.daemon import metrics
from rpcapi.messaging import bus
from rpcapi.messaging.dispatch import BACKLOG

WAITING = metrics.gauge(
    "rpc_waiting_messages",
    "Messages in the shared queue of a topic; messages to single servers are not counted",
    ("topic",),
    "max",
)
BACKLOG_MESSAGES = metrics.gauge("rpc_backlog_messages", "Messages that workers have read and not begun", ("topic",))
DEAD_LETTERS = metrics.counter("rpc_dead_letters_total", "Messages that the daemon could not process")


class BusMeasurement:
    def __init__(self, transport: RPCTransport) -> None:
        self._transport = transport
        self._counted = bus.count_dead_letters()

    def measure(self) -> None:
        letters = bus.count_dead_letters()
        DEAD_LETTERS.inc(letters - self._counted)
        self._counted = letters
        for topic, messages in BACKLOG.counts().items():
            BACKLOG_MESSAGES.labels(topic=topic).set(messages)
        for topic, messages in bus.waiting_messages(self._transport).items():
            WAITING.labels(topic=topic).set(messages)


def tasks(conf: cfg.ConfigOpts, transport: RPCTransport, interval: Callable[[], float]) -> list[Periodic]:
    # The scheduler's weighers register options in this group, too: without a daemon it has no ``listen``.
    if "metrics" not in conf or "listen" not in conf.metrics or not conf.metrics.listen:
        return []
    return [Periodic("Measuring the bus", BusMeasurement(transport).measure, interval)]
