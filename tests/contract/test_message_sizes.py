# SPDX-License-Identifier: Apache-2.0
"""Bounded messages of both buses: errors at senders and callers, and messages that receivers do not decode."""

import logging
import uuid
from collections.abc import Iterator
from typing import Any

import amqp
import oslo_messaging
import pytest

from devstack.servers.rabbitmq import RabbitNode
from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.access.broker_users import VHOST
from rpcapi.clients.client import ServiceClient
from rpcapi.conf.rpc import MAX_MESSAGE_BYTES
from rpcapi.messaging import bus
from tests.support.bus.bus_peer import Ending, Peers, eventually

BOUND = 10_000


class SizesClient(ServiceClient):
    """Client of the endpoint of the bus suites."""

    VERSION = "1.0"
    TOPIC = "conductor"

    def echo(self, value: Any) -> Any:
        return self.call(context.new(), "1.0", "echo", value=value)

    def note(self, value: Any) -> None:
        self._cast(context.new(), "1.0", "note", value=value)

    def note_all(self, value: Any) -> None:
        self._cast(context.new(), "1.0", "note", {"fanout": True}, value=value)

    def answer_of_size(self, size: int) -> str:
        return self.call(context.new(), "1.0", "answer_of_size", size=size)


def open_client(peers: Peers, transport: Any = None) -> SizesClient:
    transport = transport or peers.transport()
    rpc_conf.register_opts(transport.conf)
    return SizesClient(transport.conf, transport, peers.topic)


def open_peers(url: str, ending: Ending, bound: int) -> Peers:
    peers = Peers(url, ending)
    peers.rpc_options["max_message_bytes"] = bound
    return peers


@pytest.fixture
def peers(url: str, ending: Ending) -> Iterator[Peers]:
    peers = open_peers(url, ending, BOUND)
    yield peers
    peers.close()


both_buses = pytest.mark.parametrize("url", ["embedded", "rabbit"], indirect=True)


@both_buses
@pytest.mark.parametrize("method", ["echo", "note", "note_all"])
def test_too_large_request_is_refused_at_the_sender(peers: Peers, method: str) -> None:
    endpoint = peers.serve()
    client = open_client(peers)
    for _ in range(2):
        with pytest.raises(errors.RequestTooLarge, match=r"bytes, \[rpc\] max_message_bytes allows 10000") as refusal:
            getattr(client, method)("x" * BOUND)
        assert refusal.value.kwargs["count"] > BOUND
    assert client.echo(1) == 1
    assert endpoint.notes == []


@both_buses
def test_request_within_the_bound_is_served(peers: Peers) -> None:
    peers.serve()
    value = "x" * (BOUND - 2000)
    assert open_client(peers).echo(value) == value


@both_buses
def test_too_large_answer_raises_an_error_at_the_caller(peers: Peers) -> None:
    peers.serve()
    client = open_client(peers)
    for _ in range(2):
        with pytest.raises(errors.AnswerTooLarge, match=r"bytes, \[rpc\] max_message_bytes allows 10000; ask for less"):
            client.answer_of_size(BOUND)
    assert client.answer_of_size(10) == "x" * 10


@both_buses
@pytest.mark.parametrize("method", ["note", "note_all"])
def test_larger_request_of_a_peer_without_the_bound_is_a_dead_letter(
    url: str, ending: Ending, peers: Peers, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Given a peer that sends what it likes
    endpoint = peers.serve()
    peers.rpc_options["max_message_bytes"] = 100 * BOUND
    hostile, counted = open_client(peers), bus.count_dead_letters()
    caplog.set_level(logging.WARNING)
    # When it sends more than the server accepts
    mark = uuid.uuid4().hex
    for _ in range(3):
        getattr(hostile, method)(mark + "x" * 10 * BOUND)
    getattr(hostile, method)("small")
    # Then nothing of it is decoded, and the server goes on
    eventually(lambda: endpoint.notes == ["small"], "the next message arrives")
    assert bus.count_dead_letters() - counted == 3
    for letter in dead_letters_with(peers, mark, 3):
        assert letter.size > 10 * BOUND
        assert "max_message_bytes allows 10000" in letter.reason
        assert len(letter.text) <= 1000
    assert hostile.echo(1) == 1


def dead_letters_with(peers: Peers, mark: str, count: int) -> list[Any]:
    """Return the letters with a text once there are as many."""
    transport, letters = peers.transport(), []

    def read() -> bool:
        letters[:] = [letter for letter in bus.dead_letters(transport) or [] if mark in letter.text]
        return len(letters) == count

    eventually(read, "the letters are kept")
    return letters


@both_buses
def test_larger_answer_of_a_server_without_the_bound_is_not_decoded(peers: Peers) -> None:
    caller = peers.transport()
    caller.conf.set_override("call_timeout", 1.0, group="rpc")
    peers.rpc_options["max_message_bytes"] = 100 * BOUND
    peers.serve()
    client = open_client(peers, caller)
    assert client.answer_of_size(10) == "x" * 10
    with pytest.raises(oslo_messaging.MessagingTimeout):
        client.answer_of_size(10 * BOUND)
    assert client.answer_of_size(10) == "x" * 10


def test_message_that_the_broker_refuses_is_refused_at_the_sender(rabbit_node: RabbitNode, ending: Ending) -> None:
    # Given a client that allows more than the broker
    peers = open_peers(rabbit_node.url(), ending, 2 * MAX_MESSAGE_BYTES)
    endpoint = peers.serve()
    client = open_client(peers)
    for method in (client.echo, client.note):
        with pytest.raises(errors.RequestTooLarge, match=f"max_message_size of RabbitMQ allows {MAX_MESSAGE_BYTES};"):
            method("x" * MAX_MESSAGE_BYTES)
    assert client.echo(1) == 1
    assert endpoint.notes == []
    peers.close()


def test_broker_that_we_start_bounds_messages_of_all_users(rabbit_node: RabbitNode) -> None:
    with amqp.Connection(
        host=f"127.0.0.1:{rabbit_node.ports.amqp}",
        userid="compute",
        password=rabbit_node.passwords.of("compute"),
        virtual_host=VHOST,
        confirm_publish=True,
    ) as connection:
        message = amqp.Message(b"x" * (MAX_MESSAGE_BYTES + 1), user_id="compute")
        with pytest.raises(amqp.PreconditionFailed, match=f"larger than configured max size {MAX_MESSAGE_BYTES}"):
            connection.channel().basic_publish_confirm(message, exchange="gantt-scheduler", routing_key="scheduler")
