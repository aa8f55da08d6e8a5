# SPDX-License-Identifier: Apache-2.0
"""Users of agents, enrolled and revoked through a real broker's management API."""

import amqp
import pytest

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.access import broker_users
from rpcapi.access.rabbit_management import BrokerAdministration

USER = broker_users.agent("h.1")
DRAIN_SECONDS = 60


def connect(rabbit: RabbitNode, password: str) -> amqp.Connection:
    connection = amqp.Connection(
        host=f"{LOOPBACK}:{rabbit.ports.amqp}",
        userid=USER.name,
        password=password,
        virtual_host=broker_users.VHOST,
        read_timeout=DRAIN_SECONDS,
    )
    connection.connect()
    return connection


def test_user_has_its_permissions_until_it_is_revoked(managed_rabbit: tuple[RabbitNode, str]) -> None:
    rabbit, address = managed_rabbit
    administration = BrokerAdministration(f"http://{ADMIN}:{rabbit.passwords.of(ADMIN)}@{address}")
    administration.enroll(USER, "first")
    administration.enroll(USER, "second")
    with pytest.raises(amqp.AccessRefused):
        connect(rabbit, "first")
    connection = connect(rabbit, "second")
    channel = connection.channel()
    # Its own queue and key
    channel.queue_declare("compute.h.1")
    channel.queue_bind("compute.h.1", "gantt-compute", "compute.h.1")
    # And nobody else's
    with pytest.raises(amqp.AccessRefused):
        connection.channel().queue_bind("compute.h.1", "gantt-compute", "compute.h.10")
    with pytest.raises(amqp.AccessRefused):
        connection.channel().queue_declare("compute.h.10")

    assert administration.revoke(USER.name)
    # Its connection ends although it sends nothing
    with pytest.raises((amqp.AMQPError, OSError)) as ended:
        while True:
            connection.drain_events(timeout=DRAIN_SECONDS)
    assert not isinstance(ended.value, TimeoutError)
    with pytest.raises(amqp.AccessRefused):
        connect(rabbit, "second")
    assert not administration.revoke(USER.name)


def test_only_the_administrator_may_enrol(managed_rabbit: tuple[RabbitNode, str]) -> None:
    rabbit, address = managed_rabbit
    for name in ("operator", "compute"):
        administration = BrokerAdministration(f"http://{name}:{rabbit.passwords.of(name)}@{address}")
        with pytest.raises(errors.Unavailable, match="401"):
            administration.enroll(broker_users.agent("h2"), "any")
