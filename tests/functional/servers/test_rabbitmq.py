# SPDX-License-Identifier: Apache-2.0
"""A private RabbitMQ node: messages, ports and errors."""

from pathlib import Path

import amqp
import pytest

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers import rabbitmq_binary
from devstack.servers.errors import (
    AlreadyRunning,
    BinaryMissing,
    PortInUse,
)
from devstack.servers.ports import LOOPBACK, answers
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import VHOST


def test_killed_node_restarts_with_durable_messages(make_rabbit):
    node = make_rabbit()
    with connect(node) as connection:
        connection.channel().queue_declare("of-a-killed-node", durable=True, auto_delete=False)
    # The broker confirms a message when it is on disk, but writes its table of queues some time after a declaration.
    node.restart()
    with connect(node) as connection:
        message = amqp.Message("kept", delivery_mode=2)
        connection.channel().basic_publish_confirm(message, routing_key="of-a-killed-node")
    ports, epmd = node.ports, node.ports.epmd

    node.kill()
    assert node.pid is None
    node.start()

    assert node.ports == ports
    with connect(node) as connection:
        assert connection.channel().basic_get("of-a-killed-node", no_ack=True).body == "kept"
    node.stop()
    node.stop()
    assert node.pid is None
    assert not answers(epmd)


def test_the_node_listens_on_loopback_only(rabbit_node):
    node_ports = {f"{port:04X}" for port in (rabbit_node.ports.amqp, rabbit_node.ports.distribution)}
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    ]
    addresses = {entry.partition(":")[0] for entry in listening if entry.partition(":")[2] in node_ports}
    assert addresses == {"0100007F"}


def test_second_start_raises_already_running(rabbit_node):
    pid = rabbit_node.pid

    with pytest.raises(AlreadyRunning, match=str(pid)):
        rabbit_node.start()

    assert rabbit_node.pid == pid
    connect(rabbit_node).close()


def test_port_in_use_is_named_and_nothing_starts(run_folder, used_port):
    node = RabbitNode(run_folder, port=used_port)

    with pytest.raises(PortInUse, match=str(used_port)):
        node.start()

    assert not list(run_folder.glob("*.pid"))


def test_missing_program_error_says_how_to_install_it(run_folder, monkeypatch):
    monkeypatch.setattr(rabbitmq_binary, "SERVER_SCRIPT", Path("/nowhere/rabbitmq-server"))

    with pytest.raises(BinaryMissing, match="apt-get install rabbitmq-server"):
        RabbitNode(run_folder).start()


def connect(node: RabbitNode) -> amqp.Connection:
    connection = amqp.Connection(
        host=f"{LOOPBACK}:{node.ports.amqp}",
        userid=ADMIN,
        password=node.passwords.of(ADMIN),
        virtual_host=VHOST,
        confirm_publish=True,
    )
    connection.connect()
    return connection
