# SPDX-License-Identifier: Apache-2.0
"""Configuration and address of a group with sentinels; nothing is started."""

import socket
from pathlib import Path

import pytest
import redis

from devstack.deploy.users.redis_users import SCHEDULER
from devstack.servers.errors import ServerError
from devstack.servers.sentinel import SERVICE, SentinelGroup

BINARY = Path("/usr/bin/redis-server")


def test_majority_of_the_sentinels_decides(tmp_path):
    for sentinels, quorum in ((1, 1), (3, 2), (5, 3)):
        group = SentinelGroup(tmp_path / str(sentinels), binary=BINARY, sentinels=sentinels)
        primary = group.servers[0]
        for sentinel in group.sentinels:
            line = f"sentinel monitor {SERVICE} 127.0.0.1 {primary.port} {quorum}"
            assert line in sentinel._configuration().splitlines()


def test_other_servers_replicate_the_first(tmp_path):
    primary, *replicas = SentinelGroup(tmp_path, binary=BINARY, replicas=2).servers
    assert primary.replica_of is None
    assert [replica.replica_of for replica in replicas] == [primary, primary]


def test_address_names_all_sentinels_and_the_logins(tmp_path):
    group = SentinelGroup(tmp_path, binary=BINARY, users=[SCHEDULER])
    hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in group.sentinels)
    assert group.url() == f"redis+sentinel://{hosts}/{SERVICE}/0"
    assert f"@{hosts}/{SERVICE}/0?sentinel_username=whereabouts&" in group.url("scheduler")
    assert group.url("scheduler").startswith("redis+sentinel://scheduler:")


def test_group_that_does_not_run_has_no_primary(tmp_path):
    with pytest.raises(ServerError, match="No sentinel runs"):
        SentinelGroup(tmp_path, binary=BINARY).primary()


def test_sentinel_that_accepts_connections_and_does_not_answer_yet_is_not_ready(tmp_path, monkeypatch):
    (sentinel,) = SentinelGroup(tmp_path, binary=BINARY, sentinels=1).sentinels
    with socket.create_server(("127.0.0.1", 0)) as silent:
        impatient = redis.Redis("127.0.0.1", silent.getsockname()[1], socket_timeout=0.1)
        monkeypatch.setattr(sentinel, "client", lambda: impatient)
        assert not sentinel._answers()
