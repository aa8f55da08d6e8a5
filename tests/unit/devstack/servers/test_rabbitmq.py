# SPDX-License-Identifier: Apache-2.0
"""Ports, address and environment of a private RabbitMQ; nothing is started."""

import json

import pytest

from devstack.servers.errors import ServerNotReady
from devstack.servers.rabbitmq import RabbitNode, RabbitPorts


def test_ports_are_different_and_one_may_be_fixed():
    ports = RabbitPorts.pick(7002)
    assert ports.amqp == 7002
    assert len({ports.amqp, ports.distribution, ports.epmd}) == 3


def test_node_that_was_never_started_has_no_ports(tmp_path):
    with pytest.raises(ServerNotReady, match="was never started"):
        _ = RabbitNode(tmp_path).ports


@pytest.fixture
def node(tmp_path):
    (tmp_path / "ports.json").write_text(json.dumps({"amqp": 7002, "distribution": 7003, "epmd": 7004}))
    return RabbitNode(tmp_path)


def test_address_has_the_password_and_by_default_the_confined_driver(node):
    password = node.passwords.of("client")
    assert node.url("client") == f"gantt-rabbit://client:{password}@127.0.0.1:7002/gantt"
    assert node.url("client", "rabbit").startswith("rabbit://client:")


def test_environment_of_the_caller_does_not_reach_the_node(node, monkeypatch, tmp_path):
    monkeypatch.setenv("RABBITMQ_USE_LONGNAME", "true")
    environment = node._environment()
    assert "RABBITMQ_USE_LONGNAME" not in environment
    assert (environment["RABBITMQ_NODENAME"], environment["ERL_EPMD_PORT"]) == ("gantt-7002@localhost", "7004")
    assert environment["HOME"] == str(tmp_path)


def test_recorded_ports_are_kept_unless_another_is_configured(node, tmp_path):
    node._choose_ports()
    assert node.ports == RabbitPorts(7002, 7003, 7004)
    other = RabbitNode(tmp_path, port=7005)
    other._choose_ports()
    assert other.ports.amqp == 7005


def test_cookie_stays_the_same_over_restarts(node, tmp_path):
    node._write_configuration()
    cookie = (tmp_path / ".erlang.cookie").read_text()
    node._write_configuration()
    assert (tmp_path / ".erlang.cookie").read_text() == cookie
    assert (tmp_path / ".erlang.cookie").stat().st_mode & 0o777 == 0o600
    assert "listeners.tcp.local = 127.0.0.1:7002" in (tmp_path / "rabbitmq.conf").read_text().splitlines()
