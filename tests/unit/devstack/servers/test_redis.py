# SPDX-License-Identifier: Apache-2.0
"""Configuration and addresses of a private Redis; nothing is started."""

import pytest

from devstack.deploy.users.redis_users import SCHEDULER
from devstack.servers.errors import ServerError
from devstack.servers.redis import SOCKET_PATH_LIMIT, RedisServer


def lines(server):
    return server._configuration().splitlines()


@pytest.mark.parametrize(
    ("appendonly", "on", "fsync"),
    [("no", "no", "everysec"), ("everysec", "yes", "everysec"), ("always", "yes", "always")],
)
def test_durability_is_that_of_the_append_only_file(tmp_path, appendonly, on, fsync):
    configuration = lines(RedisServer(tmp_path, appendonly=appendonly))
    assert {f"appendonly {on}", f"appendfsync {fsync}", 'save ""'} <= set(configuration)


def test_server_without_port_listens_on_its_socket_only(tmp_path):
    server = RedisServer(tmp_path)
    assert "port 0" in lines(server)
    assert server.url() == f"unix://{tmp_path}/redis.sock?db=0"
    with pytest.raises(ServerError, match="Unix socket"):
        server.tcp_url()


def test_addresses_have_the_user_s_password(tmp_path):
    server = RedisServer(tmp_path, users=[SCHEDULER], port=7000)
    password = server.passwords.of("scheduler")
    assert server.tcp_url("scheduler") == f"redis://scheduler:{password}@127.0.0.1:7000/0"
    assert server.bus_url("scheduler").startswith(f"gantt+redis://scheduler:{password}@/0?socket=")
    assert f'aclfile "{tmp_path}/users.acl"' in lines(server)


def test_replica_needs_a_primary_with_a_port(tmp_path):
    primary = RedisServer(tmp_path / "a", port=7000, users=[SCHEDULER])
    replica = RedisServer(tmp_path / "b", replica_of=primary)
    assert replica.passwords is primary.passwords
    assert "replicaof 127.0.0.1 7000" in lines(replica)
    assert any(line.startswith("masterauth ") for line in lines(replica))
    with pytest.raises(ServerError, match="has no TCP port"):
        lines(RedisServer(tmp_path / "c", replica_of=RedisServer(tmp_path / "d")))


def test_further_settings_come_last(tmp_path):
    assert lines(RedisServer(tmp_path, settings=["save 60 1"]))[-1] == "save 60 1"


def test_too_long_socket_path_is_reported_before_the_start(tmp_path):
    folder = tmp_path / ("x" * SOCKET_PATH_LIMIT)
    with pytest.raises(ServerError, match=f"at most {SOCKET_PATH_LIMIT} bytes"):
        RedisServer(folder)._require_short_socket_path()
