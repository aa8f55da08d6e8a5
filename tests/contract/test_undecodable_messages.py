# SPDX-License-Identifier: Apache-2.0
"""Messages on RabbitMQ that cannot be decoded: each is one log line, and all others are answered."""

import gzip
import json
import logging
from collections.abc import Iterator
from typing import Any

import amqp
import pytest
from oslo_messaging._drivers import common

from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.access.broker_users import VHOST
from tests.support.bus.bus_peer import Ending, Peers, eventually

ROUNDS = 10
DEEP = "[" * 100_000 + "]" * 100_000


def envelope(**fields: Any) -> str:
    return json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(fields)})


# Bodies, with properties other than those of JSON in UTF-8.
BODIES: list[tuple[str | bytes, dict[str, Any]]] = [
    ("not JSON", {}),
    (b"\xff\xfe", {}),
    ("[1, 2]", {}),
    ("{}", {"content_type": "application/x-python-serialize"}),
    (envelope().encode(), {"content_encoding": "no such charset"}),
    (json.dumps({"oslo.version": "9.0", "oslo.message": "{}"}), {}),
    (json.dumps({"oslo.version": "2.0", "oslo.message": 7}), {}),
    (json.dumps({"oslo.version": [], "oslo.message": "{}"}), {}),
    (DEEP, {}),
    (json.dumps({"oslo.version": "2.0", "oslo.message": DEEP}), {}),
    (envelope(method="echo", _context_self=1), {}),
    (envelope(method="echo", _context_a=json.loads("[" * 900 + "]" * 900)), {}),
    (gzip.compress(envelope().encode()), {"application_headers": {"compression": "application/x-gzip"}}),
]


@pytest.fixture
def peers(rabbit_node: RabbitNode, ending: Ending) -> Iterator[Peers]:
    peers = Peers(rabbit_node.url(), ending)
    yield peers
    peers.close()


@pytest.fixture
def channel(rabbit_node: RabbitNode) -> Iterator[amqp.Channel]:
    with amqp.Connection(
        host=f"127.0.0.1:{rabbit_node.ports.amqp}",
        userid="admin",
        password=rabbit_node.passwords.of("admin"),
        virtual_host=VHOST,
    ) as connection:
        yield connection.channel()


def publish(channel: amqp.Channel, queue: str, body: str | bytes, properties: dict[str, Any]) -> None:
    values = {"content_type": "application/json", "content_encoding": "utf-8", "user_id": "admin", **properties}
    channel.basic_publish(amqp.Message(body, **values), routing_key=queue)


def test_undecodable_messages_between_calls(
    peers: Peers, channel: amqp.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    caplog.set_level(logging.WARNING)
    for number in range(ROUNDS):
        for body, properties in BODIES:
            publish(channel, peers.topic, body, properties)
        assert client.call({}, "echo", value=number) == number

    def lines() -> list[str]:
        return [text for text in caplog.messages if text.startswith(("Rejected a message", "Dropped a message"))]

    eventually(lambda: len(lines()) >= ROUNDS * len(BODIES), "all are logged")
    assert client.call({}, "echo", value=2) == 2
    assert len(lines()) == ROUNDS * len(BODIES)
    assert all(record.exc_info is None and len(record.getMessage()) < 1000 for record in caplog.records)
    assert channel.queue_declare(peers.topic, passive=True).message_count == 0


def test_undecodable_replies_stop_no_caller(peers: Peers, channel: amqp.Channel) -> None:
    peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    reply_queue = client.transport._driver._reply_q
    for body, properties in BODIES:
        publish(channel, reply_queue, body, properties)
    assert client.call({}, "echo", value=2) == 2


def test_arguments_that_are_nested_too_deeply_are_answered(peers: Peers) -> None:
    peers.serve()
    client = peers.client()
    serialize = common.serialize_msg

    def nest(message: dict[str, Any]) -> dict[str, Any]:
        sent = serialize(message)
        return {**sent, "oslo.message": sent["oslo.message"].replace('"DEEP"', DEEP)}

    with pytest.MonkeyPatch.context() as patch, pytest.raises(errors.MalformedObject, match="cannot be decoded"):
        patch.setattr(common, "serialize_msg", nest)
        client.call({}, "echo", value="DEEP")
