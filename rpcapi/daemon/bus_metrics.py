# SPDX-License-Identifier: Apache-2.0
"""Measures the message bus for a worker that serves on it."""

from collections.abc import Callable

from oslo_config import cfg
from oslo_messaging.transport import RPCTransport

from rpcapi.background import Periodic
from rpcapi.daemon import metrics
from rpcapi.messaging import bus
from rpcapi.messaging.backlog import BACKLOG

WAITING = metrics.gauge(
    "rpc_waiting_messages",
    "Messages in the queue of a topic at the bus, which its servers share; those for one server are not among them",
    ("topic",),
    "max",
)
BACKLOG_MESSAGES = metrics.gauge(
    "rpc_backlog_messages", "Messages that workers have read and that wait for a thread", ("topic",)
)
DEAD_LETTERS = metrics.counter("rpc_dead_letters_total", "Messages to the daemon that it could not process")


class BusMeasurement:
    """Sets the metrics of one transport; buses other than gantt's drivers have only some."""

    def __init__(self, transport: RPCTransport) -> None:
        self._transport = transport
        self._counted = bus.count_dead_letters()

    def measure(self) -> None:
        """Measure; raises Unavailable."""
        letters = bus.count_dead_letters()
        DEAD_LETTERS.inc(letters - self._counted)
        self._counted = letters
        for topic, messages in BACKLOG.counts().items():
            BACKLOG_MESSAGES.labels(topic=topic).set(messages)
        for topic, messages in bus.waiting_messages(self._transport).items():
            WAITING.labels(topic=topic).set(messages)


def tasks(conf: cfg.ConfigOpts, transport: RPCTransport, interval: Callable[[], float]) -> list[Periodic]:
    """Return the task that measures every ``interval()`` seconds; none for a daemon without metrics."""
    # The scheduler has options of weighers in this group too, and a worker that no daemon started has only those.
    if "metrics" not in conf or "listen" not in conf.metrics or not conf.metrics.listen:
        return []
    return [Periodic("Measuring the bus", BusMeasurement(transport).measure, interval)]
