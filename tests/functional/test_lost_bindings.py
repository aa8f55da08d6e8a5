# SPDX-License-Identifier: Apache-2.0
"""Exchanges and bindings that are deleted under running services on RabbitMQ: reported, and restored."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import amqp
import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import REPLY_EXCHANGE, VHOST
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import rabbit_exchanges, rabbit_returns
from tests.support.bus.bus_peer import eventually

SERVED, EXCHANGE = "conductor", "gantt-conductor"
SERVER = "one"


class Echo:
    """An endpoint that returns what it gets."""

    @oslo_messaging.expose
    def echo(self, _context: dict, text: str) -> str:
        return text


class Deployment:
    """A broker with a service and its caller, and the administrator's channel."""

    def __init__(self, node: RabbitNode, server_user: str, admin: amqp.Channel) -> None:
        self.admin = admin
        self.transports = [transport_of(node, server_user), transport_of(node, "operator")]
        target = oslo_messaging.Target(topic=SERVED, server=SERVER)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bus, "access_of", lambda service: None)
            self.server = bus.get_server(self.transports[0], target, [Echo()], executor="threading")
        self.server.start()
        self._client = bus.get_client(self.transports[1], oslo_messaging.Target(topic=SERVED), timeout=2)

    def is_answered(self) -> bool:
        try:
            return bool(self._client.call({}, "echo", text="any") == "any")
        except (oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure):
            return False

    def create_exchange(self, name: str) -> None:
        """Create an exchange as the definitions do."""
        self.admin.exchange_declare(name, "topic", durable=True, auto_delete=False)

    def stop(self) -> None:
        self.server.stop()
        self.server.wait()
        for transport in self.transports:
            transport.cleanup()


def transport_of(node: RabbitNode, user: str) -> Any:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    return bus.get_transport(conf, node.url(user))


@pytest.fixture(scope="module")
def admin(managed_rabbit: tuple[RabbitNode, str]) -> Iterator[amqp.Connection]:
    node, _address = managed_rabbit
    with amqp.Connection(
        host=f"{LOOPBACK}:{node.ports.amqp}", userid=ADMIN, password=node.passwords.of(ADMIN), virtual_host=VHOST
    ) as connection:
        yield connection


@pytest.fixture
def make_deployment(
    managed_rabbit: tuple[RabbitNode, str], admin: amqp.Connection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Deployment]]:
    monkeypatch.setattr(rabbit_exchanges, "CHECK_SECONDS", 0.5)
    monkeypatch.setattr(rabbit_returns, "_logged", {})
    created: list[Deployment] = []

    def make(server_user: str = SERVED) -> Deployment:
        created.append(Deployment(managed_rabbit[0], server_user, admin.channel()))
        eventually(created[-1].is_answered, "the service answers")
        return created[-1]

    yield make
    channel = admin.channel()
    for name in (EXCHANGE, REPLY_EXCHANGE):  # for the next test, whatever has failed
        channel.exchange_declare(name, "topic", durable=True, auto_delete=False)
    for deployment in created:
        deployment.stop()


@pytest.mark.timeout(300)
def test_lost_binding_is_reported_by_the_sender_and_restored_by_the_service(
    make_deployment: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rabbit_exchanges, "CHECK_SECONDS", 1e6)
    deployment = make_deployment()
    deployment.admin.queue_unbind(SERVED, EXCHANGE, SERVED)
    with caplog.at_level(logging.WARNING):
        assert not deployment.is_answered()
    assert f"no queue is bound to key '{SERVED}' of exchange '{EXCHANGE}'" in caplog.text
    # Its next check restores it
    monkeypatch.setattr(rabbit_exchanges, "CHECK_SECONDS", 0.5)
    check_now(deployment)
    eventually(deployment.is_answered, "the service answers again")


def check_now(deployment: Deployment) -> None:
    """Make the check of the service's connection due."""
    listener = deployment.server.listener._poll_style_listener
    listener.conn.connection._binding_check._next_check = 0.0


@pytest.mark.timeout(300)
def test_service_reports_a_deleted_exchange_and_binds_its_queues_once_it_exists_again(
    make_deployment: Callable[..., Deployment], caplog: pytest.LogCaptureFixture
) -> None:
    deployment = make_deployment()
    with caplog.at_level(logging.WARNING):
        deployment.admin.exchange_delete(EXCHANGE)
        eventually(
            lambda: f"Queue {SERVED} is not bound to exchange {EXCHANGE}" in caplog.text, "the service reports it"
        )
        assert f"Exchange {EXCHANGE} is missing" in caplog.text
        assert not deployment.is_answered()
        # Nobody but the administrator may create it
        with pytest.raises(amqp.NotFound):
            deployment.admin.connection.channel().exchange_declare(EXCHANGE, "topic", passive=True)
        deployment.create_exchange(EXCHANGE)
        eventually(deployment.is_answered, "the service answers again")
        eventually(lambda: f"Exchange {EXCHANGE} exists again" in caplog.text, "the service reports its return")


@pytest.mark.timeout(300)
def test_caller_binds_its_reply_queue_again(make_deployment: Callable[..., Deployment]) -> None:
    deployment = make_deployment()
    deployment.admin.exchange_delete(REPLY_EXCHANGE)
    assert not deployment.is_answered()
    deployment.create_exchange(REPLY_EXCHANGE)
    eventually(deployment.is_answered, "replies arrive again")


@pytest.mark.timeout(300)
def test_service_that_may_creates_its_exchange_again(
    make_deployment: Callable[..., Deployment], caplog: pytest.LogCaptureFixture
) -> None:
    deployment = make_deployment(ADMIN)
    with caplog.at_level(logging.WARNING):
        deployment.admin.exchange_delete(EXCHANGE)
        eventually(deployment.is_answered, "the service answers again")
    assert f"Exchange {EXCHANGE} is missing" in caplog.text
