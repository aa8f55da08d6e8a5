# SPDX-License-Identifier: Apache-2.0
"""The metrics of the message bus."""

import oslo_messaging
import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from rpcapi.daemon import bus_metrics, options
from rpcapi.daemon.bus_metrics import BusMeasurement
from rpcapi.messaging.dispatch import BACKLOG
from rpcapi.messaging.drivers import dead_letters


class Transport:
    """A transport whose driver has these topics, or no answer."""

    def __init__(self, **waiting):
        self._driver = self
        self.waiting = waiting

    def waiting_messages(self):
        if not self.waiting:
            raise oslo_messaging.MessageDeliveryFailure("the broker is away")
        return self.waiting


class StockTransport:
    """A transport of a driver that is not gantt's."""

    _driver = object()


def waiting(topic):
    return REGISTRY.get_sample_value("gantt_rpc_waiting_messages", {"topic": topic})


def backlog(topic):
    return REGISTRY.get_sample_value("gantt_rpc_backlog_messages", {"topic": topic})


def letters():
    return REGISTRY.get_sample_value("gantt_rpc_dead_letters_total")


def test_the_last_measurement_is_shown():
    transport = Transport(conductor=3, scheduler=0)
    measurement = BusMeasurement(transport)
    measurement.measure()
    assert (waiting("conductor"), waiting("scheduler")) == (3, 0)
    transport.waiting = {"conductor": 1, "scheduler": 2}
    measurement.measure()
    assert (waiting("conductor"), waiting("scheduler")) == (1, 2)


def test_messages_that_were_read_and_not_begun_are_shown():
    measurement = BusMeasurement(StockTransport())
    BACKLOG.add("claims.p", 5)
    BACKLOG.add("claims.p", -2)
    measurement.measure()
    assert backlog("claims.p") == 3
    BACKLOG.add("claims.p", -3)
    measurement.measure()
    assert backlog("claims.p") == 0


def test_dead_letters_are_counted_once_even_while_the_bus_is_away():
    measurement = BusMeasurement(Transport())
    with pytest.raises(errors.Unavailable, match="The message bus cannot be reached: the broker is away"):
        measurement.measure()
    before = letters()
    for _ in range(2):
        dead_letters.COUNT.add_one()
    for _ in range(2):
        with pytest.raises(errors.Unavailable):
            measurement.measure()
    assert letters() - before == 2


def test_a_second_measurement_counts_no_letter_again():
    dead_letters.COUNT.add_one()
    before = letters()
    BusMeasurement(StockTransport()).measure()
    assert letters() == before


def test_the_bus_is_measured_only_for_a_daemon_that_exports_metrics(conf):
    transport = Transport(conductor=1)
    assert bus_metrics.tasks(conf, transport, lambda: 1.0) == []
    options.register_opts(conf)
    assert bus_metrics.tasks(conf, transport, lambda: 1.0) == []
    conf.set_override("listen", "127.0.0.1:0", group="metrics")
    (task,) = bus_metrics.tasks(conf, transport, lambda: 1.0)
    transport.waiting = {"conductor": 7}
    task.run_once()
    assert waiting("conductor") == 7
