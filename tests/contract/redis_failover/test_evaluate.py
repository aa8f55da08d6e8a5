# SPDX-License-Identifier: Apache-2.0
"""A script's result waits for the replicas."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.evaluate import TooFewReplicas, await_replicas, evaluate
from rpcapi.redis_failover.script_client import ScriptClient
from rpcapi.redis_failover.scripts import LuaScript

ONE_REPLICA = ReplicaAcknowledgement(1, 5_000)
ONE_REPLICA_BRIEFLY = ReplicaAcknowledgement(1, 50)


def make_script(text: str) -> LuaScript:
    return LuaScript("verb", text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), (), ())


SCRIPT = make_script("return redis.call('SETNX', KEYS[1], ARGV[1])")


def open_client(server: RedisServer) -> ScriptClient:
    return ScriptClient.from_pool(redis.ConnectionPool.from_url(server.url(), decode_responses=True))


def evaluate_script(client: ScriptClient, replicas: ReplicaAcknowledgement) -> Any:
    return evaluate(client, SCRIPT, ["k"], [["v"]], replicas=replicas, marker="acknowledged")[0]


def test_result_is_returned_when_the_replica_has_the_write(
    make_redis: Callable[..., RedisServer], redis_flavour: Path
) -> None:
    primary = make_redis(port=free_port(), binary=redis_flavour)
    replica = make_redis(replica_of=primary, binary=redis_flavour)
    with open_client(primary) as client, open_client(primary) as other, replica.client() as copy:
        assert evaluate_script(client, ONE_REPLICA) == 1
        assert copy.get("k") == "v"
        # A hung replica acknowledges nothing; the write stands
        client.delete("k")
        replica.pause()
        with pytest.raises(TooFewReplicas, match="0 of 1 replicas"):
            evaluate_script(client, ONE_REPLICA_BRIEFLY)
        assert client.get("k") == "v"
        # A repetition, over another connection too, waits for the original write, though it writes nothing
        with pytest.raises(TooFewReplicas):
            evaluate_script(other, ONE_REPLICA_BRIEFLY)
        with pytest.raises(TooFewReplicas), open_client(primary) as reader:
            await_replicas(reader, ONE_REPLICA_BRIEFLY, "acknowledged")
        assert evaluate_script(other, ReplicaAcknowledgement()) == 0
        replica.resume()
        await_replicas(other, ONE_REPLICA, "acknowledged")
        assert evaluate_script(other, ONE_REPLICA) == 0
        assert copy.get("k") == "v"


def test_calls_that_are_sent_together_are_all_carried_out(redis_server: RedisServer) -> None:
    with open_client(redis_server) as client:
        client.delete("k")
        client.script_flush()

        def evaluate_calls(calls: list[list[str]], replicas: ReplicaAcknowledgement) -> list[int]:
            return evaluate(client, SCRIPT, ["k"], calls, replicas=replicas, marker="acknowledged")

        assert evaluate_calls([["v"], ["w"]], ReplicaAcknowledgement()) == [1, 0]
        client.delete("k")
        with pytest.raises(TooFewReplicas):
            evaluate_calls([["w"]], ONE_REPLICA_BRIEFLY)
        assert client.get("k") == "w"
        client.delete("k")
        with pytest.raises(redis.ResponseError):  # the first one lacks an argument
            evaluate_calls([[], ["w"]], ReplicaAcknowledgement())
        assert client.get("k") == "w"
        client.delete("k")


def test_packet_loads_a_flushed_script_and_a_call_that_fails_fails_alone(redis_server: RedisServer) -> None:
    with open_client(redis_server) as client:
        client.delete("k")
        client.script_flush()
        calls: list[list[str]] = [["v"], [], ["w"]]  # the second one lacks an argument

        def evaluate_calls(replicas: ReplicaAcknowledgement) -> list[Any]:
            return evaluate(client, SCRIPT, ["k"], calls, replicas=replicas, marker="acknowledged", returns_errors=True)

        first, failure, last = evaluate_calls(ReplicaAcknowledgement())
        assert (first, last) == (1, 0)
        assert isinstance(failure, redis.ResponseError)
        with pytest.raises(TooFewReplicas):
            evaluate_calls(ONE_REPLICA_BRIEFLY)
        client.delete("k")


def test_flushed_script_is_loaded_again(redis_server: RedisServer) -> None:
    with open_client(redis_server) as client:
        client.script_flush()
        with pytest.raises(TooFewReplicas):
            evaluate_script(client, ONE_REPLICA_BRIEFLY)  # the script ran, but this server has no replica
        client.script_flush()
        assert evaluate_script(client, ReplicaAcknowledgement()) == 0
        client.delete("k")


def test_error_of_the_script_is_raised(redis_server: RedisServer) -> None:
    script = make_script("return redis.error_reply('NOEPOCH none')")
    with open_client(redis_server) as client:
        for replicas in (ReplicaAcknowledgement(), ONE_REPLICA_BRIEFLY):
            with pytest.raises(redis.ResponseError, match=r"^NOEPOCH"):
                evaluate(client, script, ["k"], [[]], replicas=replicas, marker="acknowledged")
