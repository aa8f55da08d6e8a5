# SPDX-License-Identifier: Apache-2.0
"""Redis 7.0 replays its append-only file as the default user, who must be able to write what scripts wrote."""

import pytest
import redis

from devstack.servers.redis_users import SCHEDULER, STORE_USERS

WRITE = "redis.call('HSET', KEYS[1], 'a', '1'); redis.call('HSET', KEYS[1], 'b', '2'); return 1"
KEY = "gantt:{p:regression}:claims"


def test_what_a_script_wrote_is_there_after_a_kill(redis_flavour, make_redis):
    # Given a durable server with service users only, and what a script wrote as one of them
    server = make_redis(binary=redis_flavour, appendonly="always", users=STORE_USERS)
    with server.client(SCHEDULER.name) as client:
        client.eval(WRITE, 1, KEY)
    # When the server is killed and started again
    server.kill()
    server.start()
    # Then it is all there
    with server.client(SCHEDULER.name) as client:
        assert client.hgetall(KEY) == {"a": "1", "b": "2"}


def test_nobody_is_let_in_as_the_default_user(redis_flavour, make_redis):
    server = make_redis(binary=redis_flavour, users=STORE_USERS)
    with redis.Redis.from_url(server.url()) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    named = redis.Redis.from_url(server.url(), username="default", password="")
    with named as client, pytest.raises((redis.AuthenticationError, redis.ResponseError)):
        client.ping()
