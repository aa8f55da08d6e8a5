# SPDX-License-Identifier: Apache-2.0
"""TTL of messages in their queues on RabbitMQ, and the channel after a refused message."""

from types import SimpleNamespace
from typing import Any, NoReturn

import amqp
import oslo_messaging
import pytest
from oslo_messaging._drivers import impl_rabbit

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.bounded_rabbit import BoundedConnection
from rpcapi.messaging.drivers.errors import QueueFull


@pytest.fixture
def ttls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The TTLs of published messages in seconds."""
    published_ttls: list[Any] = []
    monkeypatch.setattr(impl_rabbit.Connection, "_publish", lambda _self, *values: published_ttls.append(values[3]))
    return published_ttls


@pytest.fixture
def connection() -> Any:
    """An unopened connection."""
    return object.__new__(BoundedConnection)


def test_ttl_of_a_call_is_limited_by_the_thread_deadline(connection: Any, ttls: list[Any]) -> None:
    with deadline.limit_wait(5):
        connection._publish("exchange", "message", "topic", timeout=30)
        connection._publish("exchange", "message", "topic", timeout=2)
    assert ttls[0] <= 5
    assert ttls[1] == 2


def test_call_is_not_sent_after_its_deadline(connection: Any, ttls: list[Any]) -> None:
    with (
        deadline.limit_wait(0),
        pytest.raises(oslo_messaging.MessageDeliveryFailure, match="used up the call's timeout"),
    ):
        connection._publish("exchange", "message", "topic", timeout=30)
    assert ttls == []


def test_cast_has_no_ttl(connection: Any, ttls: list[Any]) -> None:
    with deadline.limit_wait(5):
        connection._publish("exchange", "message", "topic")
    assert ttls == [None]


def test_message_after_a_refused_one_is_sent_by_another_channel(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_values: object) -> NoReturn:
        raise amqp.exceptions.MessageNacked

    channels = iter(("second", "third"))
    connection.channel, connection._max_queue_length = "first", 100
    connection.connection = SimpleNamespace(channel=lambda: next(channels))
    monkeypatch.setattr(connection, "_set_current_channel", lambda channel: setattr(connection, "channel", channel))
    monkeypatch.setattr(impl_rabbit.Connection, "_publish", refuse)
    for channel in ("second", "third"):
        with pytest.raises(QueueFull, match="Queue topic has 100 messages"):
            connection._publish("exchange", "message", "topic")
        assert connection.channel == channel
