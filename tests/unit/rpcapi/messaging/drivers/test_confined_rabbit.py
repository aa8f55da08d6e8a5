# SPDX-License-Identifier: Apache-2.0
"""Replies through an exchange of their own on RabbitMQ, without a broker."""

from types import SimpleNamespace
from typing import Any

import kombu
import pytest
from oslo_config import cfg

from rpcapi.access.broker_users import REPLY_EXCHANGE
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.confined_rabbit import ConfinedRabbitDriver
from rpcapi.messaging.drivers.rabbit_connection import SEND_SECONDS, RabbitConnection
from rpcapi.messaging.drivers.rabbit_exchanges import DeployedExchange
from rpcapi.messaging.drivers.rabbit_transport import SCHEME


@pytest.fixture
def connection() -> Any:
    """An unopened connection that records what it would publish and declare."""
    created: Any = object.__new__(RabbitConnection)
    created.published, created.consumers = [], []

    def publish(method: Any, exchange: Any, msg: Any, **values: Any) -> None:
        created.published.append((method, exchange, msg, values, deadline.remaining_seconds()))

    created._ensure_publishing = publish
    created.declare_consumer = created.consumers.append
    for name in ("rabbit_transient_quorum_queue", "rabbit_ha_queues", "enable_cancel_on_failover"):
        setattr(created, name, False)
    created.rabbit_transient_queues_ttl = 60
    created.rabbit_quorum_queue_config = SimpleNamespace()
    created.direct_mandatory_flag = True
    return created


def test_reply_is_published_to_the_reply_exchange(connection: Any) -> None:
    connection.direct_send("reply_7", {"a": 1})
    ((method, exchange, msg, values, seconds),) = connection.published
    assert (exchange.name, exchange.type, msg, values["routing_key"]) == (REPLY_EXCHANGE, "topic", {"a": 1}, "reply_7")
    assert exchange.passive, "declaring it would hide that the caller is gone"
    assert method == connection._publish_and_raises_on_missing_exchange
    assert values["transport_options"].at_least_once
    assert 0 < seconds <= SEND_SECONDS


def test_reply_within_a_sooner_deadline_keeps_it(connection: Any) -> None:
    with deadline.limit_wait(0.5):
        connection.direct_send("reply_7", {})
    assert connection.published[0][-1] <= 0.5


def test_reply_queue_is_bound_to_the_reply_exchange_by_its_name(connection: Any) -> None:
    connection.declare_direct_consumer("reply_7", print)
    (consumer,) = connection.consumers
    assert (consumer.exchange_name, consumer.queue_name, consumer.routing_key, consumer.type) == (
        REPLY_EXCHANGE,
        "reply_7",
        "reply_7",
        "topic",
    )


@pytest.mark.parametrize("scheme", ["rabbit", "gantt-rabbit"])
def test_driver_verifies_the_broker(conf: cfg.ConfigOpts, scheme: str) -> None:
    driver: Any = bus.get_transport(conf, f"{scheme}://user:word@127.0.0.1/")._driver
    assert isinstance(driver, ConfinedRabbitDriver)
    (host,) = driver._url.hosts
    stock: Any = object.__new__(RabbitConnection)
    assert stock._transform_transport_url(driver._url, host).startswith(f"{SCHEME}://user:word@127.0.0.1")


@pytest.mark.parametrize(("name", "durable"), [("gantt-claims", True), (REPLY_EXCHANGE, True), ("gantt", False)])
def test_missing_exchange_is_created_as_the_definitions_or_else_other_publishers_have_it(name, durable):
    exchange = DeployedExchange.of(kombu.Exchange(name, "topic", durable=False, auto_delete=not durable))
    assert (exchange.durable, exchange.auto_delete) == (durable, not durable)
