# SPDX-License-Identifier: Apache-2.0
"""Service users may read the address of the primary, but cannot trigger a failover."""

from collections.abc import Callable

import pytest
import redis

from devstack.deploy.users.redis_users import REPLICA, SENTINEL, SENTINEL_READER, STORE_USERS, RedisUser
from devstack.servers.redis import RedisServer
from tests.support.clusters.setups import running_setup


@pytest.mark.parametrize("user", ["scheduler", "conductor"])
@pytest.mark.parametrize(
    "command", ["CLUSTER RESET", "CLUSTER FAILOVER", "CLUSTER NODES", "REPLICAOF NO ONE", "CONFIG GET *", "CLIENT LIST"]
)
def test_service_user_cannot_change_the_servers(
    make_redis: Callable[..., RedisServer], user: str, command: str
) -> None:
    server = make_redis(users=STORE_USERS)
    with server.client(user) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())


@pytest.mark.parametrize("user", [REPLICA, SENTINEL])
def test_replica_and_sentinel_users_cannot_read_keys(make_redis: Callable[..., RedisServer], user: RedisUser) -> None:
    server = make_redis(users=(*STORE_USERS, REPLICA, SENTINEL))
    with server.client(user.name) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.hgetall("gantt:{p:default}:meta")


@pytest.mark.long
def test_sentinel_reader_cannot_trigger_failover() -> None:
    with running_setup("sentinel") as setup:
        sentinel = setup.group.sentinels[0]
        password = setup.group.servers[0].passwords.of(SENTINEL_READER.name)
        with redis.Redis(port=sentinel.port, username=SENTINEL_READER.name, password=password) as client:
            assert client.execute_command("SENTINEL", "MASTER", "gantt")
            for command in ("SENTINEL FAILOVER gantt", "SENTINEL SET gantt quorum 1", "SENTINEL REMOVE gantt"):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.execute_command(*command.split())
        with redis.Redis(port=sentinel.port) as stranger, pytest.raises(redis.exceptions.AuthenticationError):
            stranger.execute_command("SENTINEL", "MASTER", "gantt")
