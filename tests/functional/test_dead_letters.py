# SPDX-License-Identifier: Apache-2.0
"""Messages on RabbitMQ that services cannot process: operators see them, with the newest in gantt-status."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import amqp
import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.access.broker_users import DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE, VHOST
from rpcapi.messaging import bus
from rpcapi.messaging.drivers.dead_letters import MAX_LETTERS, MAX_TEXT
from tests.support.bus.bus_peer import eventually

# A service's user, and the queue of one of its servers.
SERVERS = [("scheduler", "claims.cell1"), ("conductor", "conductor.s1"), ("gantt-compute.h1", "compute.h1")]
JUNK = b"no JSON \xff" + b"x" * MAX_TEXT


class Echo:
    @oslo_messaging.expose
    def echo(self, _context: dict, text: str) -> str:
        return text


@pytest.fixture(scope="module")
def admin(rabbit_node: RabbitNode) -> Iterator[amqp.Channel]:
    with connect(rabbit_node, ADMIN) as connection:
        yield connection.channel()


def connect(node: RabbitNode, user: str) -> amqp.Connection:
    address = f"{LOOPBACK}:{node.ports.amqp}"
    password = node.passwords.of(user)
    return amqp.Connection(address, userid=user, password=password, virtual_host=VHOST, confirm_publish=True)


@pytest.fixture
def open_transport(rabbit_node: RabbitNode, admin: amqp.Channel) -> Iterator[Callable[[str], Any]]:
    """Open transports of users; there are no dead letters before the test, and no queues of other tests or for them."""
    admin.queue_purge(DEAD_LETTER_QUEUE)
    _delete_queues(admin)
    opened: list[Any] = []

    def open_transport(user: str) -> Any:
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        opened.append(bus.get_transport(conf, rabbit_node.url(user)))
        return opened[-1]

    yield open_transport
    for transport in opened:
        transport.cleanup()
    _delete_queues(admin)


def _delete_queues(admin: amqp.Channel) -> None:
    for _, queue in SERVERS:
        admin.queue_delete(queue)


@pytest.fixture
def serve(open_transport: Callable[[str], Any]) -> Iterator[Callable[[str, str], str]]:
    """Start a server with the credentials of a user, and return the name of its queue."""
    servers: list[Any] = []

    def serve(user: str, queue: str) -> str:
        topic, _, name = queue.rpartition(".")
        target = oslo_messaging.Target(topic=topic, server=name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bus, "access_of", lambda service: None)
            servers.append(bus.get_server(open_transport(user), target, [Echo()], executor="threading"))
        servers[-1].start()
        return queue

    yield serve
    for server in servers:
        server.stop()
    for server in servers:
        server.wait()


def publish(admin: amqp.Channel, queue: str, body: bytes) -> None:
    admin.basic_publish(amqp.Message(body, content_type="application/json", user_id=ADMIN), routing_key=queue)


def test_undecodable_messages_to_all_services_are_shown_to_operators(
    open_transport: Callable[[str], Any], serve: Callable[[str, str], str], admin: amqp.Channel
) -> None:
    queues = [serve(*server) for server in SERVERS]
    before = bus.count_dead_letters()
    operator = open_transport("operator")
    assert bus.dead_letters(operator) == []
    for queue in queues:
        publish(admin, queue, JUNK)
    eventually(lambda: len(bus.dead_letters(operator) or []) == len(queues), "all are kept")
    letters = bus.dead_letters(operator) or []  # reading removes none
    assert {letter.queue for letter in letters} == set(queues)
    assert bus.count_dead_letters() - before == len(queues)
    for letter in letters:
        assert (letter.size, letter.text) == (len(JUNK), JUNK[:MAX_TEXT].decode(errors="replace"))
        assert letter.reason.startswith("a message that cannot be decoded: ")


def test_the_newest_letters_are_kept(open_transport: Callable[[str], Any], admin: amqp.Channel) -> None:
    for number in range(MAX_LETTERS + 5):
        admin.basic_publish(amqp.Message(b"%d" % number, user_id=ADMIN), exchange=DEAD_LETTER_EXCHANGE)
    letters = bus.dead_letters(open_transport("operator")) or []
    assert {letter.text for letter in letters} == {str(number) for number in range(5, MAX_LETTERS + 5)}
    assert {letter.reason for letter in letters} == {"it is not a dead letter"}
    assert {letter.queue for letter in letters} == {f"{DEAD_LETTER_QUEUE}, by {ADMIN}"}


def test_only_operators_read_them(open_transport: Callable[[str], Any]) -> None:
    for user in ("scheduler", "conductor", "gantt-compute.h1", "client"):
        with pytest.raises(errors.Unavailable, match="Cannot read dead letters"):
            bus.dead_letters(open_transport(user))


@pytest.mark.parametrize("user", ["client", "operator"])
def test_only_services_write_them(rabbit_node: RabbitNode, user: str) -> None:
    with connect(rabbit_node, user) as connection, pytest.raises(amqp.AccessRefused):
        message = amqp.Message(b"{}", user_id=user)
        connection.channel().basic_publish(message, exchange=DEAD_LETTER_EXCHANGE)


@pytest.mark.parametrize("user", ["scheduler", "conductor", "gantt-compute.h1"])
def test_services_can_neither_empty_nor_bind_nor_delete_the_queue(rabbit_node: RabbitNode, user: str) -> None:
    attacks: list[Callable[[amqp.Channel], Any]] = [
        lambda channel: channel.queue_purge(DEAD_LETTER_QUEUE),
        lambda channel: channel.queue_delete(DEAD_LETTER_QUEUE),
        lambda channel: channel.queue_bind(DEAD_LETTER_QUEUE, "gantt-replies", "#"),
        lambda channel: channel.exchange_bind(DEAD_LETTER_EXCHANGE, "gantt-replies", "#"),
        lambda channel: channel.exchange_delete(DEAD_LETTER_EXCHANGE),
        lambda channel: channel.basic_get(DEAD_LETTER_QUEUE),
    ]
    for attack in attacks:
        with connect(rabbit_node, user) as connection, pytest.raises(amqp.AccessRefused):
            attack(connection.channel())


def test_status_command_warns_with_the_newest(
    rabbit_node: RabbitNode, serve: Callable[[str, str], str], admin: amqp.Channel, tmp_path: Path
) -> None:
    conf = tmp_path / "gantt.conf"
    conf.write_text(f"[DEFAULT]\ntransport_url = {rabbit_node.url('operator')}\n[rpc]\ncall_timeout = 0.3\n")
    queue = serve("conductor", "conductor.s2")
    for number in range(2):
        publish(admin, queue, b"junk %d" % number)
    eventually(lambda: admin.queue_declare(DEAD_LETTER_QUEUE, passive=True).message_count == 2, "both are kept")
    command = [str(Path(sys.executable).with_name("gantt-status")), "--config-file", str(conf), "upgrade", "check"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False).stdout
    text = " ".join(shown.replace("|", " ").split())
    assert "Check: Dead letters Result: Warning Details: 2; the newest was sent to conductor.s2: a message" in text


def test_broker_without_the_queue_keeps_none(make_rabbit: Callable[[], RabbitNode]) -> None:
    """A broker with definitions of an earlier release: servers and commands work, and other senders are undisturbed."""
    node = make_rabbit()
    with connect(node, ADMIN) as connection:
        channel = connection.channel()
        channel.queue_delete(DEAD_LETTER_QUEUE)
        channel.exchange_delete(DEAD_LETTER_EXCHANGE)
        conf = cfg.ConfigOpts()
        conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        transport = bus.get_transport(conf, node.url())
        target = oslo_messaging.Target(topic="conductor", server="s1")
        server = bus.get_server(transport, target, [Echo()], executor="threading")
        server.start()
        try:
            for _ in range(3):
                publish(channel, "conductor.s1", b"junk")
                client = bus.get_client(transport, oslo_messaging.Target(topic="conductor"), timeout=60)
                assert client.call({}, "echo", text="a") == "a"
            assert bus.dead_letters(transport) is None
        finally:
            server.stop()
            server.wait()
            transport.cleanup()
