# SPDX-License-Identifier: Apache-2.0
"""Ports, address and configuration of a private Redis Cluster; nothing is started."""

import pytest

from devstack.deploy.users.redis_users import SCHEDULER
from devstack.servers import ports, redis_cluster
from devstack.servers.errors import ServerError
from devstack.servers.redis_cluster import BUS_PORT_OFFSET, RedisCluster


def test_port_is_free_together_with_that_for_the_other_nodes(monkeypatch):
    checked_ports = []
    monkeypatch.setattr(ports, "is_free", lambda port: checked_ports.append(port) or True)
    port = redis_cluster.free_node_port()
    assert checked_ports == [port, port + BUS_PORT_OFFSET]


def test_pair_with_one_port_in_use_is_not_picked(monkeypatch):
    monkeypatch.setattr(ports, "is_free", lambda port: port < redis_cluster.FIRST + BUS_PORT_OFFSET)
    with pytest.raises(ServerError, match="No free pair of TCP ports"):
        redis_cluster.free_node_port()


def test_ports_are_below_those_of_outgoing_connections():
    assert redis_cluster.LAST + BUS_PORT_OFFSET <= 32768


def test_nodes_can_log_in_to_each_other(tmp_path):
    cluster = RedisCluster(tmp_path, users=[SCHEDULER])
    configuration = cluster._node(0)._configuration().splitlines()
    assert "cluster-enabled yes" in configuration
    assert f"masterauth {cluster._passwords.of('replica')}" in configuration


def test_address_names_all_nodes_and_the_login(tmp_path):
    cluster = RedisCluster(tmp_path, users=[SCHEDULER])
    cluster.nodes = [cluster._node(number) for number in range(2)]
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)
    assert cluster.url() == f"redis+cluster://{hosts}"
    assert cluster.url("scheduler") == f"redis+cluster://scheduler:{cluster._passwords.of('scheduler')}@{hosts}"


def test_cluster_that_does_not_run_has_no_owner(tmp_path):
    with pytest.raises(ServerError, match="No live node"):
        RedisCluster(tmp_path).owner("key")
