# SPDX-License-Identifier: Apache-2.0
"""The check of bindings without a broker; tests/functional/test_lost_bindings.py runs it against one."""

import logging
from types import SimpleNamespace

import amqp
import pytest

from rpcapi.messaging.drivers import rabbit_exchanges
from rpcapi.messaging.drivers.rabbit_exchanges import BindingCheck


class Broker:
    """A fake of a connection to a broker; ``exchanges`` exist."""

    def __init__(self):
        self.exchanges = {"gantt-conductor", "gantt-replies"}
        self.bound = []
        self.open_channels = 0

    def channel(self):
        self.open_channels += 1
        return SimpleNamespace(queue_bind=lambda *binding: self.bound.append(binding), close=self._close)

    def _close(self):
        self.open_channels -= 1

    def consumer(self, queue, exchange):
        def declare(channel):
            if exchange not in self.exchanges:
                self.open_channels -= 1  # an error closes the channel
                raise amqp.AccessRefused("refused")

        return SimpleNamespace(
            exchange=SimpleNamespace(name=exchange, declare=declare), queue_name=queue, routing_key=queue
        )


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def consumers(broker):
    return [broker.consumer("conductor", "gantt-conductor"), broker.consumer("reply.x", "gantt-replies")]


def test_all_queues_are_bound_again_and_no_channel_stays_open(broker, consumers):
    BindingCheck().run(broker, consumers)
    assert broker.bound == [("conductor", "gantt-conductor", "conductor"), ("reply.x", "gantt-replies", "reply.x")]
    assert broker.open_channels == 0


def test_missing_exchange_hinders_no_other_and_its_return_is_logged_once(broker, consumers, caplog):
    caplog.set_level(logging.WARNING)
    check = BindingCheck()
    broker.exchanges.remove("gantt-conductor")
    check.run(broker, consumers)
    assert [queue for queue, *_ in broker.bound] == ["reply.x"]
    assert "Queue conductor is not bound to exchange gantt-conductor" in caplog.text
    broker.exchanges.add("gantt-conductor")
    for _ in range(2):
        check.run(broker, consumers)
    assert caplog.text.count("Exchange gantt-conductor exists again") == 1
    assert broker.open_channels == 0


def test_checks_are_spread_around_the_interval(broker, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(rabbit_exchanges.time, "monotonic", lambda: now[0])
    checks = [BindingCheck() for _ in range(200)]
    assert not any(check.is_due for check in checks)
    now[0] += rabbit_exchanges.CHECK_SECONDS
    assert 0 < sum(check.is_due for check in checks) < 200
    now[0] += rabbit_exchanges.CHECK_SECONDS
    assert all(check.is_due for check in checks)
    checks[0].run(broker, [])
    assert not checks[0].is_due
