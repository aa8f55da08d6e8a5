# SPDX-License-Identifier: Apache-2.0
"""A script's answer waits for the replicas."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
import redis

from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi.conf.replicas import Replicas
from rpcapi.primary.evaluate import NotReplicated, evaluate

ONCE = "return redis.call('SETNX', KEYS[1], ARGV[1])"
SHA = hashlib.sha1(ONCE.encode(), usedforsecurity=False).hexdigest()
ALWAYS = Replicas(1, 5_000)
BRIEFLY = Replicas(1, 50)


def once(client: redis.Redis, replicas: Replicas) -> Any:
    return evaluate(client, SHA, ONCE, ["k"], ["v"], replicas=replicas)


def test_answer_comes_when_the_replica_has_the_write(make_redis: Callable[..., RedisServer]) -> None:
    primary = make_redis(port=free_port())
    replica = make_redis(replica_of=primary)
    with primary.client() as client, primary.client() as other, replica.client() as copy:
        assert once(client, ALWAYS) == 1
        assert copy.get("k") == "v"
        # A replica that hangs acknowledges nothing; what was written stands
        client.delete("k")
        replica.pause()
        with pytest.raises(NotReplicated, match="0 of 1 replicas"):
            once(client, BRIEFLY)
        assert client.get("k") == "v"
        # and to repeat it, over another connection too, waits for the first time's write, though it writes nothing
        with pytest.raises(NotReplicated):
            once(other, BRIEFLY)
        assert once(other, Replicas()) == 0
        replica.resume()
        assert once(other, ALWAYS) == 0
        assert copy.get("k") == "v"


def test_script_that_was_forgotten_is_loaded_again(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.script_flush()
        with pytest.raises(NotReplicated):
            once(client, BRIEFLY)  # it ran: this server has no replica
        client.script_flush()
        assert once(client, Replicas()) == 0
        client.delete("k")


def test_error_of_the_script_is_the_answer(redis_server: RedisServer) -> None:
    text = "return redis.error_reply('NOEPOCH none')"
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    with redis_server.client() as client:
        for replicas in (Replicas(), BRIEFLY):
            with pytest.raises(redis.ResponseError, match=r"^NOEPOCH"):
                evaluate(client, sha, text, ["k"], [], replicas=replicas)
