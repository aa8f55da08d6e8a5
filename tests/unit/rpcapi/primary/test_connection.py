# SPDX-License-Identifier: Apache-2.0
"""Connections that follow the primary."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer
from rpcapi.primary import connection

SOMEWHERE = "redis+cluster://127.0.0.1:1"


class Turned:
    """Whereabouts that a test turns."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.asked = 0

    def primary(self) -> tuple[str, int]:
        self.asked += 1
        assert self.server.port is not None
        return LOOPBACK, self.server.port


@pytest.fixture
def pair(make_redis: Callable[..., RedisServer]) -> tuple[RedisServer, RedisServer]:
    primary = make_redis(port=free_port())
    return primary, make_redis(port=free_port(), replica_of=primary)


@pytest.fixture
def turned(pair: tuple[RedisServer, RedisServer], monkeypatch: pytest.MonkeyPatch) -> Turned:
    made = Turned(pair[0])
    monkeypatch.setattr(connection, "find", lambda nodes, key: made)
    return made


@pytest.fixture
def client(turned: Turned) -> Iterator[redis.Redis]:
    options: dict[str, Any] = {"decode_responses": True, "retry": Retry(NoBackoff(), 0)}
    made = redis.Redis.from_pool(connection.pool(SOMEWHERE, "k", "store", **options))
    yield made
    made.close()


def test_address_is_asked_for_once_a_connection(client: redis.Redis, turned: Turned) -> None:
    client.set("k", "1")
    assert (client.get("k"), turned.asked) == ("1", 1)


def test_server_that_is_a_replica_now_is_left(
    client: redis.Redis, turned: Turned, pair: tuple[RedisServer, RedisServer]
) -> None:
    client.set("k", "1")
    primary, replica = pair
    replica.promote()
    with primary.client() as old:
        old.execute_command("REPLICAOF", LOOPBACK, str(replica.port))
    turned.server = replica
    with pytest.raises(redis.ReadOnlyError):
        client.set("k", "2")
    assert client.set("k", "2") and turned.asked == 2


def test_refusal_in_a_pipeline_leaves_no_answer_behind(
    client: redis.Redis, turned: Turned, pair: tuple[RedisServer, RedisServer]
) -> None:
    primary, turned.server = pair[0], pair[1]
    pipeline = client.pipeline(transaction=False)
    for _ in range(2):
        pipeline.set("k", "1").get("k")
        refused, _nothing, *_ = pipeline.execute(raise_on_error=False)
        if isinstance(refused, redis.ReadOnlyError):
            turned.server = primary
            pipeline.set("k", "1").get("k")
    assert client.get("k") == "1" and turned.asked == 2


def test_another_error_after_the_refusal_does_not_hide_it(
    client: redis.Redis, turned: Turned, pair: tuple[RedisServer, RedisServer]
) -> None:
    primary, turned.server = pair
    pipeline = client.pipeline(transaction=False)
    pipeline.set("k", "1")
    pipeline.execute_command("NOSUCH")
    refused, unknown = pipeline.execute(raise_on_error=False)
    assert isinstance(refused, redis.ReadOnlyError) and "unknown command" in str(unknown)
    turned.server = primary
    assert client.set("k", "1") and turned.asked == 2


def test_one_server_is_connected_to_as_its_url_says() -> None:
    made = connection.pool("redis://127.0.0.1:1/2", "k", "store")
    assert made.connection_class is redis.Connection
    assert (made.connection_kwargs["port"], made.connection_kwargs["db"]) == (1, 2)


def test_replica_is_refused_where_a_primary_is_required(turned: Turned, pair: tuple[RedisServer, RedisServer]) -> None:
    turned.server = pair[1]
    pool = connection.pool(SOMEWHERE, "k", "store", redis_connect_func=connection.require_primary)
    with redis.Redis.from_pool(pool) as client, pytest.raises(redis.ReadOnlyError, match="replica"):
        client.get("k")
    turned.server = pair[0]
    with redis.Redis.from_pool(pool) as client:
        assert client.get("k") is None


@pytest.mark.parametrize(
    ("said", "elsewhere"),
    [
        (redis.exceptions.MovedError("1 h:2"), True),
        (redis.exceptions.AskError("1 h:2"), True),
        (redis.exceptions.ClusterDownError("the cluster is down"), True),
        (redis.ReadOnlyError("no"), True),
        (redis.ResponseError("Error running script: -READONLY You can't write"), True),
        (redis.ResponseError("NOREPLICAS Not enough good replicas to write."), True),
        (redis.ResponseError("UNBLOCKED force unblock from blocking operation, instance state changed"), True),
        (redis.ResponseError("wrong number of arguments"), False),
    ],
)
def test_what_means_that_the_primary_is_elsewhere(said: redis.RedisError, elsewhere: bool) -> None:
    assert connection.is_elsewhere(said) is elsewhere
