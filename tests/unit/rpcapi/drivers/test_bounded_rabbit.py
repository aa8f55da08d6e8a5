# SPDX-License-Identifier: Apache-2.0
"""How long a message may live in its queue on RabbitMQ."""

from typing import Any

import oslo_messaging
import pytest
from oslo_messaging._drivers import impl_rabbit

from rpcapi.drivers import patience
from rpcapi.drivers.bounded_rabbit import BoundedConnection


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The seconds that each message which was published may live."""
    lives: list[Any] = []
    monkeypatch.setattr(impl_rabbit.Connection, "_publish", lambda _self, *values: lives.append(values[3]))
    return lives


@pytest.fixture
def connection() -> Any:
    """A connection that was never opened."""
    return object.__new__(BoundedConnection)


def test_a_call_lives_no_longer_in_its_queue_than_its_caller_waits(connection: Any, published: list[Any]) -> None:
    with patience.within(5):
        connection._publish("exchange", "message", "topic", timeout=30)
        connection._publish("exchange", "message", "topic", timeout=2)
    assert published[0] <= 5
    assert published[1] == 2


def test_a_call_whose_time_went_into_connecting_is_not_sent(connection: Any, published: list[Any]) -> None:
    with patience.within(0), pytest.raises(oslo_messaging.MessageDeliveryFailure, match="all of the call's time"):
        connection._publish("exchange", "message", "topic", timeout=30)
    assert published == []


def test_a_cast_waits_for_its_server(connection: Any, published: list[Any]) -> None:
    with patience.within(5):
        connection._publish("exchange", "message", "topic")
    assert published == [None]
