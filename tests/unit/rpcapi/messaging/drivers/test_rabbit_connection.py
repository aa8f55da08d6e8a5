# SPDX-License-Identifier: Apache-2.0
"""TTL of messages in their queues on RabbitMQ, and the channel after a refused message."""

from types import SimpleNamespace
from typing import Any, NoReturn

import amqp
import kombu
import oslo_messaging
import pytest
from oslo_messaging._drivers import impl_rabbit

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.errors import QueueFull
from rpcapi.messaging.drivers.rabbit_connection import RabbitConnection

EXCHANGE = kombu.Exchange("gantt-claims", "topic")


@pytest.fixture
def ttls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The TTLs of published messages in seconds."""
    published_ttls: list[Any] = []
    monkeypatch.setattr(impl_rabbit.Connection, "_publish", lambda _self, *values: published_ttls.append(values[3]))
    return published_ttls


@pytest.fixture
def connection() -> Any:
    """An unopened connection."""
    created: Any = object.__new__(RabbitConnection)
    created._declared_exchanges = {EXCHANGE.name}
    return created


def test_ttl_of_a_call_is_limited_by_the_thread_deadline(connection: Any, ttls: list[Any]) -> None:
    with deadline.limit_wait(5):
        connection._publish(EXCHANGE, "message", "topic", timeout=30)
        connection._publish(EXCHANGE, "message", "topic", timeout=2)
    assert ttls[0] <= 5
    assert ttls[1] == 2


def test_call_is_not_sent_after_its_deadline(connection: Any, ttls: list[Any]) -> None:
    with (
        deadline.limit_wait(0),
        pytest.raises(oslo_messaging.MessageDeliveryFailure, match="used up the call's timeout"),
    ):
        connection._publish(EXCHANGE, "message", "topic", timeout=30)
    assert ttls == []


def test_cast_has_no_ttl(connection: Any, ttls: list[Any]) -> None:
    with deadline.limit_wait(5):
        connection._publish(EXCHANGE, "message", "topic")
    assert ttls == [None]


@pytest.fixture
def refused(connection: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The connection, whose broker refuses each message; ``channels`` are those that it opens, or errors."""

    def refuse(*_values: object) -> NoReturn:
        raise amqp.exceptions.MessageNacked

    def open_channel() -> Any:
        channel = connection.channels.pop(0)
        if isinstance(channel, Exception):
            raise channel
        return channel

    connection.channel, connection.channels, connection._max_queue_length = "first", [], 100
    connection.rabbit_quorum_queue = True
    connection.connection = SimpleNamespace(
        channel=open_channel, recoverable_connection_errors=(OSError,), recoverable_channel_errors=()
    )
    monkeypatch.setattr(connection, "_set_current_channel", lambda channel: setattr(connection, "channel", channel))
    monkeypatch.setattr(impl_rabbit.Connection, "_publish", refuse)
    return connection


@pytest.mark.parametrize(("opened", "channel"), [("second", "second"), (ConnectionResetError("lost"), None)])
def test_message_after_one_that_a_quorum_queue_refused_is_sent_by_another_channel(
    refused: Any, opened: Any, channel: str | None
) -> None:
    refused.channels = [opened]
    with pytest.raises(QueueFull, match="Queue topic has 100 messages"):
        refused._publish(EXCHANGE, "message", "topic")
    assert refused.channel == channel


def test_channel_is_kept_after_a_full_classic_queue(refused: Any) -> None:
    refused.rabbit_quorum_queue = False
    with pytest.raises(QueueFull):
        refused._publish(EXCHANGE, "message", "topic")
    assert refused.channel == "first"
