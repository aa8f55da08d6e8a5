# SPDX-License-Identifier: Apache-2.0
"""A client that keeps the connections of its scripts, on a real Redis."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError
from redis.retry import Retry

from devstack.servers.redis import RedisServer
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.evaluate import evaluate
from rpcapi.redis_failover.script_client import ScriptClient
from rpcapi.redis_failover.scripts import LuaScript

THREADS, CALLS = 4, 200


@pytest.fixture
def server(make_redis: Callable[..., RedisServer]) -> RedisServer:
    return make_redis()


@pytest.fixture
def client(server: RedisServer) -> Iterator[ScriptClient]:
    options = {"decode_responses": True, "socket_timeout": 0.5, "retry": Retry(NoBackoff(), 0)}
    with ScriptClient.from_pool(redis.ConnectionPool.from_url(server.url(), **options)) as client:
        yield client


@pytest.fixture
def echo(client: ScriptClient) -> Callable[[str], str]:
    """Runs a script that returns its argument, or fails where that is 'fail'."""
    sha = client.script_load("if ARGV[1] == 'fail' then return redis.error_reply('refused') end return ARGV[1]")
    return lambda text: evalsha(client, sha, 0, text)


def evalsha(client: ScriptClient, *arguments: Any) -> Any:
    """Return the answer to a script, or raise its error."""
    (answer,) = client.execute_together([("EVALSHA", *arguments)])
    if isinstance(answer, Exception):
        raise answer
    return answer


def connections(server: RedisServer) -> set[str]:
    """Return the ids of the connections that ran a script."""
    with server.client() as observer:
        return {entry["id"] for entry in observer.client_list() if entry["cmd"] == "evalsha"}


def test_scripts_after_each_other_use_one_connection(server: RedisServer, echo: Callable[[str], str]) -> None:
    assert echo("1") == "1"
    first = connections(server)
    assert [echo(str(number)) for number in range(20)] == [str(number) for number in range(20)]
    assert len(first) == 1
    assert connections(server) == first


def test_threads_get_their_own_answers(server: RedisServer, echo: Callable[[str], str]) -> None:
    together = threading.Barrier(THREADS)

    def run(thread: int) -> list[str]:
        together.wait()
        return [echo(f"{thread} {number}") for number in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(run, range(THREADS)))
    assert answers == [[f"{thread} {number}" for number in range(CALLS)] for thread in range(THREADS)]
    assert len(connections(server)) <= THREADS


def test_connection_stays_after_a_script_that_fails(server: RedisServer, echo: Callable[[str], str]) -> None:
    echo("1")
    before = connections(server)
    with pytest.raises(redis.ResponseError, match="refused"):
        echo("fail")
    assert echo("2") == "2"
    assert connections(server) == before


def test_late_answer_is_not_taken_for_that_of_the_next_script(server: RedisServer, echo: Callable[[str], str]) -> None:
    echo("1")
    server.pause()
    with pytest.raises(redis.TimeoutError):
        echo("late")
    server.resume()
    assert echo("next") == "next"


def test_closed_connection_connects_again(server: RedisServer, echo: Callable[[str], str]) -> None:
    echo("1")
    with server.client() as other:
        other.client_kill_filter(_type="normal", skipme=True)
    with pytest.raises(redis.ConnectionError):
        echo("2")
    assert echo("3") == "3"


def test_connection_to_a_former_primary_is_given_up(
    server: RedisServer, client: ScriptClient, make_redis: Callable[..., RedisServer]
) -> None:
    sha = client.script_load("return redis.call('SET', KEYS[1], '1')")
    assert evalsha(client, sha, 1, "k") == "OK"
    before = connections(server)
    with server.client() as other:
        other.replicaof("127.0.0.1", 1)
        with pytest.raises(redis.ReadOnlyError):
            evalsha(client, sha, 1, "k")
        assert not connections(server) & before
        other.replicaof("NO", "ONE")
    assert evalsha(client, sha, 1, "k") == "OK"


def test_closing_the_client_closes_its_connections(
    server: RedisServer, client: ScriptClient, echo: Callable[[str], str]
) -> None:
    echo("1")
    assert connections(server)
    client.close()
    assert not connections(server)


def test_forked_process_uses_connections_of_its_own(server: RedisServer, echo: Callable[[str], str]) -> None:
    echo("parent")
    before = connections(server)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, f"{echo('child')} {len(connections(server) - before)}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as output:
        assert output.read() == "child 1"
    os.waitpid(child, 0)
    assert echo("again") == "again"
    assert connections(server) == before


def test_script_is_loaded_where_it_runs_and_not_where_a_former_primary_was(
    server: RedisServer, client: ScriptClient, make_redis: Callable[..., RedisServer]
) -> None:
    # Given a connection of scripts to a server that has been replaced, and does not know the script
    text = "return redis.call('INCR', KEYS[1])"
    script = LuaScript("verb", text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), (), ())
    evalsha(client, client.script_load("return 1"), 0)
    other = make_redis()
    path = redis.ConnectionPool.from_url(other.url()).connection_kwargs["path"]
    client.connection_pool.connection_kwargs["path"] = path
    (connection,) = client._idle
    connection.path = path  # of the next connect
    # When it is run
    replicas = ReplicaAcknowledgement()
    counts = [evaluate(client, script, ["k"], [[]], replicas=replicas, marker="m") for _ in range(3)]
    # Then it runs at the server that the pool leads to now
    assert counts == [[1], [2], [3]]
    with other.client() as observer, server.client() as former:
        assert int(observer.get("k")) == 3
        assert not former.exists("k")


def test_commands_in_one_packet_get_their_own_answers(
    server: RedisServer, client: ScriptClient, echo: Callable[[str], str]
) -> None:
    echo("1")
    before = connections(server)
    sha = client.script_load("if ARGV[1] == 'fail' then return redis.error_reply('refused') end return ARGV[1]")
    answers = client.execute_together([("EVALSHA", sha, 0, text) for text in ("a", "fail", "b")])
    assert [answers[0], answers[2]] == ["a", "b"]
    assert isinstance(answers[1], redis.ResponseError)
    assert connections(server) == before


def test_unknown_script_is_the_answer_to_each_command(client: ScriptClient) -> None:
    answers = client.execute_together([("EVALSHA", "0" * 40, 0)] * 3)
    assert [type(answer) for answer in answers] == [NoScriptError] * 3


def test_late_answers_to_a_packet_are_nobody_elses(
    server: RedisServer, client: ScriptClient, echo: Callable[[str], str]
) -> None:
    sha = client.script_load("return ARGV[1]")
    server.pause()
    with pytest.raises(redis.TimeoutError):
        client.execute_together([("EVALSHA", sha, 0, text) for text in ("a", "b")])
    server.resume()
    assert client.execute_together([("EVALSHA", sha, 0, "c")]) == ["c"]
    assert echo("next") == "next"
