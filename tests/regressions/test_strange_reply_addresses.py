# SPDX-License-Identifier: Apache-2.0
"""A call whose answer cannot be sent stops no other answer of its server."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import amqp
import oslo_messaging
import pytest

from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import VHOST
from rpcapi.messaging import bus
from tests.support.bus.bus_peer import Ending, Endpoint, Peers

pytestmark = pytest.mark.long  # Only a real broker refuses the answers.

CALLS = 20
SERVICE, CALLER = "scheduler", "client"
BREAKING = pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="An answer that cannot be sent breaks the connection for all answers."
)
ADDRESSES = [
    pytest.param(f"reply.conductor.{'0' * 32}", id="of another user"),
    pytest.param(f"reply.{CALLER}.{'1' * 32}", id="undeclared"),
    pytest.param(["reply"], id="list"),
    pytest.param(SERVICE, id="of a service", marks=BREAKING),
    pytest.param("", id="empty", marks=BREAKING),
    pytest.param("r" * 300, id="too long", marks=BREAKING),
    pytest.param(5, id="number", marks=BREAKING),
]


@pytest.fixture
def ending() -> Iterator[Ending]:
    ending = Ending()
    yield ending
    ending.finish()


@pytest.fixture
def client(rabbit_node: RabbitNode, ending: Ending, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a server with one thread, each with its user's permissions."""
    monkeypatch.setattr(bus, "access_of", lambda service: None)  # the broker's permissions are tested
    peers = Peers(rabbit_node.url(SERVICE), ending)
    peers.topic = SERVICE
    peers.start(Endpoint("s1"), "s1", pool=1)
    callers = Peers(rabbit_node.url(CALLER), ending)
    callers.topic = SERVICE
    client = callers.client(timeout=5)
    assert client.call({}, "echo", value=0) == 0
    yield client
    callers.close()
    peers.close()


@pytest.fixture
def channel(rabbit_node: RabbitNode) -> Iterator[amqp.Channel]:
    """A bare channel of the caller's user."""
    with amqp.Connection(
        host=f"{LOOPBACK}:{rabbit_node.ports.amqp}",
        userid=CALLER,
        password=rabbit_node.passwords.of(CALLER),
        virtual_host=VHOST,
        confirm_publish=True,
    ) as connection:
        yield connection.channel()


@pytest.mark.parametrize("address", ADDRESSES)
def test_answers_that_cannot_be_delivered_delay_nobody(client: Any, channel: amqp.Channel, address: Any) -> None:
    for number in range(CALLS):
        ids = {"_msg_id": uuid.uuid4().hex, "_unique_id": uuid.uuid4().hex, "_reply_q": address, "_timeout": 60}
        message = {"method": "echo", "args": {"value": number}, "version": "1.0", **ids}
        body = json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(message)})
        properties = {"content_type": "application/json", "content_encoding": "utf-8", "user_id": CALLER}
        channel.basic_publish_confirm(
            amqp.Message(body, **properties), exchange=f"{bus.EXCHANGE}-{SERVICE}", routing_key=SERVICE
        )
    try:
        assert client.call({}, "echo", value="next") == "next"
    except oslo_messaging.MessagingTimeout as error:
        raise AssertionError("the next call got no answer") from error
