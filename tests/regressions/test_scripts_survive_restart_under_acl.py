# SPDX-License-Identifier: Apache-2.0
"""Redis 7.0 replays its append-only file as the default user, which needs the rights of the scripts' writes."""

import pytest
import redis

from devstack.deploy.users.redis_users import SCHEDULER, STORE_USERS

WRITE = "redis.call('HSET', KEYS[1], 'a', '1'); redis.call('HSET', KEYS[1], 'b', '2'); return 1"
KEY = "gantt:{p:regression}:claims"


def test_script_writes_survive_a_kill(redis_flavour, make_redis):
    # Given a durable server with service users only, and writes of a script run as one of them
    server = make_redis(binary=redis_flavour, appendonly="always", users=STORE_USERS)
    with server.client(SCHEDULER.name) as client:
        client.eval(WRITE, 1, KEY)
    # When the server is killed and started again
    server.kill()
    server.start()
    # Then the writes are there
    with server.client(SCHEDULER.name) as client:
        assert client.hgetall(KEY) == {"a": "1", "b": "2"}


def test_default_user_cannot_log_in(redis_flavour, make_redis):
    server = make_redis(binary=redis_flavour, users=STORE_USERS)
    with redis.Redis.from_url(server.url()) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    client = redis.Redis.from_url(server.url(), username="default", password="")
    with client as client, pytest.raises((redis.AuthenticationError, redis.ResponseError)):
        client.ping()
