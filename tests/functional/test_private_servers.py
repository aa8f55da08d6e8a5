# SPDX-License-Identifier: Apache-2.0
"""Private servers start, are killed, restart with their data, and leave nothing behind."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import amqp
import pytest
import redis

from devstack.servers import rabbitmq_binary, redis_binary
from devstack.servers.errors import (
    AlreadyRunning,
    BinaryMissing,
    FolderUnusable,
    NotReady,
    PortInUse,
    ServerError,
)
from devstack.servers.ports import LOOPBACK, answers, free_port
from devstack.servers.process import ServerProcess, start_ticks
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.rabbitmq_users import ADMIN, VHOST
from devstack.servers.redis import RedisServer
from devstack.servers.redis_users import BUS_USERS, STORE_USERS
from tests import run_folders

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 20.0


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {DEADLINE} s"
        time.sleep(0.02)


@pytest.fixture
def taken_port():
    with socket.create_server((LOOPBACK, free_port())) as listener:
        yield listener.getsockname()[1]


class TestRedis:
    def test_it_serves_on_a_private_socket_and_nowhere_else(self, make_redis, redis_flavour):
        server = make_redis(binary=redis_flavour)

        assert server.client().ping()
        assert mode(server.folder) == 0o700
        with pytest.raises(ServerError, match="Unix socket"):
            server.tcp_url()
        assert server.client().config_get("port") == {"port": "0"}

    def test_passwords_lie_in_files_of_their_own_that_only_the_owner_reads(self, make_redis):
        server = make_redis(users=STORE_USERS)

        files = sorted(server.folder.glob("*.password"))
        assert [file.stem for file in files] == ["admin", "conductor", "scheduler"]
        assert {mode(file) for file in files} == {0o600}
        assert len({file.read_text() for file in files}) == len(files)
        assert mode(server.folder / "users.acl") == 0o600
        acl = (server.folder / "users.acl").read_text()
        assert not [file for file in files if file.read_text() in acl]

    @pytest.mark.parametrize("appendonly", ["everysec", "always"])
    def test_what_is_in_the_append_only_file_survives_sigkill(self, make_redis, redis_flavour, appendonly):
        server = make_redis(binary=redis_flavour, appendonly=appendonly)
        server.client().set("kept", "yes")

        server.kill()
        assert server.pid is None
        server.start()

        assert server.client().get("kept") == "yes"

    def test_without_an_append_only_file_a_restart_forgets(self, make_redis):
        server = make_redis()
        server.client().set("kept", "no")

        server.restart()

        assert server.client().get("kept") is None

    def test_clients_of_a_dead_primary_reach_its_promoted_replica(self, make_redis, redis_flavour):
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

    def test_a_port_in_use_is_named_and_nothing_starts(self, run_folder, taken_port):
        server = RedisServer(run_folder, port=taken_port)

        with pytest.raises(PortInUse, match=str(taken_port)):
            server.start()

        assert server.pid is None
        server.stop()

    def test_a_second_start_is_told_that_it_is_up(self, make_redis):
        server = make_redis()

        with pytest.raises(AlreadyRunning, match=str(server.pid)):
            RedisServer(server.folder).start()

        assert server.client().ping()

    def test_another_program_can_stop_what_this_one_started_and_twice(self, make_redis):
        server = make_redis()
        again = RedisServer(server.folder)
        assert again.pid == server.pid

        again.stop()
        again.stop()

        assert server.pid is None

    def test_a_program_that_ends_at_once_is_reported_with_its_log(self, run_folder):
        server = RedisServer(run_folder, binary=Path("/bin/false"))

        with pytest.raises(NotReady, match=r"redis\.log"):
            server.start()

        assert server.pid is None

    def test_a_path_too_long_for_a_socket_is_refused_before_anything_starts(self, run_folder):
        server = RedisServer(run_folder / ("x" * 100))

        with pytest.raises(ServerError, match="at most 107 bytes"):
            server.start()

    def test_a_folder_that_cannot_be_made_is_named(self, run_folder):
        (run_folder / "file").write_text("")

        with pytest.raises(FolderUnusable, match="run folder"):
            RedisServer(run_folder / "file" / "redis").start()

    def test_a_missing_program_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setattr(redis_binary, "find_spec", lambda _name: None)
        monkeypatch.setattr(redis_binary, "SYSTEM_PATH", "/nowhere")

        with pytest.raises(BinaryMissing, match=r"gantt\[embedded\].*apt-get install redis-server"):
            redis_binary.redis_binary()


class TestRedisUsers:
    """What the broker of the store and the bus refuses, on both programs."""

    @pytest.fixture
    def server(self, make_redis, redis_flavour):
        return make_redis(binary=redis_flavour, users=(*STORE_USERS, *BUS_USERS))

    @pytest.mark.parametrize(
        ("user", "command"),
        [
            ("scheduler", "SET gantt:{conductor}:instances x"),
            ("scheduler", "GET other"),
            ("conductor", "SET gantt:{p:cell1}:claims x"),
            ("conductor", "GET other"),
            *[
                (user, command)
                for user in ("scheduler", "conductor", "bus")
                for command in (
                    "FLUSHALL",
                    "FLUSHDB",
                    "KEYS *",
                    "CONFIG GET requirepass",
                    "CONFIG SET appendonly no",
                    "SCRIPT FLUSH",
                    "CLIENT LIST",
                    "ACL LIST",
                    "SHUTDOWN NOSAVE",
                    "REPLICAOF NO ONE",
                    "MONITOR",
                )
            ],
        ],
    )
    def test_what_is_not_the_users_business_is_refused(self, server, user, command):
        client = redis.Redis.from_url(server.url(user))

        with pytest.raises(redis.exceptions.NoPermissionError):
            client.execute_command(*command.split())

        assert server.client().ping()

    def test_a_script_has_no_more_rights_than_its_caller(self, server):
        client = redis.Redis.from_url(server.url("scheduler"))

        with pytest.raises(redis.ResponseError, match="can't access"):
            client.eval("return redis.call('SET', 'gantt:{conductor}:x', '1')", 1, "gantt:{p:a}:x")

        assert not server.client().exists("gantt:{conductor}:x")

    @pytest.mark.parametrize(("user", "key"), [("scheduler", "gantt:{p:a}:x"), ("conductor", "gantt:{conductor}:x")])
    def test_a_service_has_what_its_store_needs(self, server, user, key):
        client = redis.Redis.from_url(server.url(user), decode_responses=True)

        assert client.hset(key, mapping={"a": "1"}) == 1
        assert client.zadd(f"{key}:z", {"a": 1}) == 1
        entry = client.xadd(f"{key}:s", {"a": "1"})
        assert client.xrange(f"{key}:s") == [(entry, {"a": "1"})]
        assert client.xread({f"{key}:s": "0"}, block=1)
        script = client.register_script("return {redis.call('TIME')[1], redis.call('HGET', KEYS[1], 'a')}")
        assert script(keys=[key])[1] == "1"
        assert client.info("server")["run_id"]
        transaction = client.pipeline()
        transaction.hget(key, "a")
        transaction.delete(f"{key}:z")
        assert transaction.execute() == ["1", 1]

    def test_nobody_gets_in_without_a_user(self, server):
        with pytest.raises(redis.AuthenticationError):
            redis.Redis.from_url(server.url()).ping()


class TestRabbit:
    def test_a_killed_node_comes_back_with_its_durable_messages(self, make_rabbit):
        node = make_rabbit()
        with self.connect(node) as connection:
            channel = connection.channel()
            channel.queue_declare("durable", durable=True, auto_delete=False)
            channel.basic_publish(amqp.Message("kept", delivery_mode=2), routing_key="durable")
        ports, epmd = node.ports, node.ports.epmd

        node.kill()
        assert node.pid is None
        node.start()

        assert node.ports == ports
        with self.connect(node) as connection:
            assert connection.channel().basic_get("durable", no_ack=True).body == "kept"
        node.stop()
        node.stop()
        assert node.pid is None
        assert not answers(epmd)

    def test_the_node_listens_on_loopback_only(self, rabbit_node):
        mine = {f"{port:04X}" for port in (rabbit_node.ports.amqp, rabbit_node.ports.distribution)}
        listening = [
            line.split()[1]
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            if line.split()[3] == "0A"
        ]
        addresses = {entry.partition(":")[0] for entry in listening if entry.partition(":")[2] in mine}
        assert addresses == {"0100007F"}

    def test_a_second_start_is_told_that_it_is_up(self, rabbit_node):
        pid = rabbit_node.pid

        with pytest.raises(AlreadyRunning, match=str(pid)):
            rabbit_node.start()

        assert rabbit_node.pid == pid
        self.connect(rabbit_node).close()

    def test_a_port_in_use_is_named_and_nothing_starts(self, run_folder, taken_port):
        node = RabbitNode(run_folder, port=taken_port)

        with pytest.raises(PortInUse, match=str(taken_port)):
            node.start()

        assert not list(run_folder.glob("*.pid"))

    def test_a_missing_program_says_how_to_install_it(self, run_folder, monkeypatch):
        monkeypatch.setattr(rabbitmq_binary, "SERVER_SCRIPT", Path("/nowhere/rabbitmq-server"))

        with pytest.raises(BinaryMissing, match="apt-get install rabbitmq-server"):
            RabbitNode(run_folder).start()

    @staticmethod
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


class TestProcess:
    def test_a_pid_that_now_belongs_to_somebody_else_is_left_alone(self, run_folder):
        pid_file = run_folder / "stranger.pid"
        with subprocess.Popen(["sleep", "600"]) as stranger:
            started = start_ticks(stranger.pid)
            assert started is not None
            recorded = {"pid": stranger.pid, "start_ticks": started - 1}
            pid_file.write_text(json.dumps(recorded))

            ServerProcess("server", pid_file, run_folder / "log").stop(seconds=1)

            assert stranger.poll() is None
            stranger.kill()

    @pytest.mark.parametrize("text", ["1", "[]", "{}", "", "no number"])
    def test_a_pid_file_of_another_program_names_no_process_of_ours(self, run_folder, text):
        pid_file = run_folder / "foreign.pid"
        pid_file.write_text(text)

        assert ServerProcess("server", pid_file, run_folder / "log").pid is None

    def test_a_process_deaf_to_sigterm_is_ended_by_force(self, run_folder):
        process = ServerProcess("deaf", run_folder / "deaf.pid", run_folder / "deaf.log")
        process.spawn(["sh", "-c", "trap '' TERM; echo ready; sleep 600 & wait; wait"], os.environ, run_folder)
        process.wait_ready(lambda: "ready" in process.log.read_text(), DEADLINE)

        process.stop(seconds=0.1)

        assert process.pid is None

    def test_the_next_run_ends_what_a_killed_test_run_left(self, monkeypatch, run_folder):
        monkeypatch.setattr(run_folders, "BASE", run_folder)
        program = (
            "import sys, time, pathlib\n"
            "from tests import run_folders\n"
            "from devstack.servers.redis import RedisServer\n"
            "run_folders.BASE = pathlib.Path(sys.argv[1])\n"
            "server = RedisServer(run_folders.claim_folder())\n"
            "server.start()\n"
            "print(server.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, str(run_folder)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        ) as killed:
            assert killed.stdout is not None
            server = int(killed.stdout.readline())
            run_folders.sweep()
            assert start_ticks(server), "a run that is still alive lost its server"
            killed.send_signal(signal.SIGKILL)

        run_folders.sweep()

        wait_until(lambda: start_ticks(server) is None, "the end of the orphaned server")
        assert not list(run_folder.iterdir())
