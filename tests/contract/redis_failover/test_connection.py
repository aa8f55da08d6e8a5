# SPDX-License-Identifier: Apache-2.0
"""Connections that follow the primary through fail-overs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer
from rpcapi.redis_failover import connection

CLUSTER_URL = "redis+cluster://127.0.0.1:1"


class FakeLocator:
    """A locator whose server a test can change."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.lookups = 0

    def primary(self) -> tuple[str, int]:
        self.lookups += 1
        assert self.server.port is not None
        return LOOPBACK, self.server.port


@pytest.fixture
def pair(make_redis: Callable[..., RedisServer]) -> tuple[RedisServer, RedisServer]:
    primary = make_redis(port=free_port())
    return primary, make_redis(port=free_port(), replica_of=primary)


@pytest.fixture
def locator(pair: tuple[RedisServer, RedisServer], monkeypatch: pytest.MonkeyPatch) -> FakeLocator:
    fake = FakeLocator(pair[0])
    monkeypatch.setattr(connection, "make_locator", lambda nodes, key: fake)
    return fake


@pytest.fixture
def client(locator: FakeLocator) -> Iterator[redis.Redis]:
    options: dict[str, Any] = {"decode_responses": True, "retry": Retry(NoBackoff(), 0)}
    redis_client = redis.Redis.from_pool(connection.pool(CLUSTER_URL, "k", "store", **options))
    yield redis_client
    redis_client.close()


def test_primary_is_located_once_per_connection(client: redis.Redis, locator: FakeLocator) -> None:
    client.set("k", "1")
    assert (client.get("k"), locator.lookups) == ("1", 1)


def test_connection_to_a_demoted_server_is_replaced(
    client: redis.Redis, locator: FakeLocator, pair: tuple[RedisServer, RedisServer]
) -> None:
    client.set("k", "1")
    primary, replica = pair
    replica.promote()
    with primary.client() as old:
        old.execute_command("REPLICAOF", LOOPBACK, str(replica.port))
    locator.server = replica
    with pytest.raises(redis.ReadOnlyError):
        client.set("k", "2")
    assert client.set("k", "2") and locator.lookups == 2


def test_read_only_error_in_a_pipeline_leaves_no_unread_response(
    client: redis.Redis, locator: FakeLocator, pair: tuple[RedisServer, RedisServer]
) -> None:
    primary, locator.server = pair[0], pair[1]
    pipeline = client.pipeline(transaction=False)
    for _ in range(2):
        pipeline.set("k", "1").get("k")
        response, _value, *_ = pipeline.execute(raise_on_error=False)
        if isinstance(response, redis.ReadOnlyError):
            locator.server = primary
            pipeline.set("k", "1").get("k")
    assert client.get("k") == "1" and locator.lookups == 2


def test_later_error_does_not_hide_the_read_only_error(
    client: redis.Redis, locator: FakeLocator, pair: tuple[RedisServer, RedisServer]
) -> None:
    primary, locator.server = pair
    pipeline = client.pipeline(transaction=False)
    pipeline.set("k", "1")
    pipeline.execute_command("NOSUCH")
    response, error_response = pipeline.execute(raise_on_error=False)
    assert isinstance(response, redis.ReadOnlyError) and "unknown command" in str(error_response)
    locator.server = primary
    assert client.set("k", "1") and locator.lookups == 2


def test_single_server_url_uses_a_plain_connection() -> None:
    pool = connection.pool("redis://127.0.0.1:1/2", "k", "store")
    assert pool.connection_class is redis.Connection
    assert (pool.connection_kwargs["port"], pool.connection_kwargs["db"]) == (1, 2)


@pytest.mark.parametrize(
    ("error", "not_primary"),
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
def test_what_means_that_the_primary_is_not_primary(error: redis.RedisError, not_primary: bool) -> None:
    assert connection.is_not_primary(error) is not_primary
