# SPDX-License-Identifier: Apache-2.0
"""Configuration and programs of a private ZooKeeper; nothing is started."""

import pytest

from devstack.servers.errors import BinaryMissing
from tests.support.private_servers import zookeeper
from tests.support.private_servers.zookeeper import ZooKeeperServer


def test_server_listens_on_loopback_only(tmp_path):
    server = ZooKeeperServer(tmp_path, port=7001)
    assert {"clientPortAddress=127.0.0.1", "clientPort=7001", "admin.enableServer=false"} <= set(
        server._configuration().splitlines()
    )
    assert server.url() == "zookeeper://127.0.0.1:7001"
    assert server.pid is None


def test_missing_program_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(zookeeper, "CLASSES", tmp_path / "none.jar")
    with pytest.raises(BinaryMissing, match="apt-get install zookeeper"):
        zookeeper.zookeeper_classes()
