# SPDX-License-Identifier: Apache-2.0
"""Permissions of the store's users, on both Redis programs."""

import pytest
import redis

from devstack.deploy.users.redis_users import KEYS_WITHOUT_PLACEMENT, STORE_USERS


@pytest.fixture
def server(make_redis, redis_flavour):
    return make_redis(binary=redis_flavour, users=STORE_USERS)


@pytest.mark.parametrize(
    ("user", "command"),
    [
        ("scheduler", "SET gantt:{conductor}:instances x"),
        ("scheduler", "GET other"),
        ("conductor", "SET gantt:{p:cell1}:claims x"),
        ("conductor", "GET other"),
        ("placement", "GET other"),
        ("placement", "HGET gantt:{conductor}:instances x"),
        *[("placement", f"HGETALL gantt:{{p:cell1}}:{word}") for word in sorted(KEYS_WITHOUT_PLACEMENT)],
        ("placement", "XRANGE gantt:{p:cell1}:log - +"),
        ("placement", "XTRIM gantt:{p:cell1}:log MAXLEN 0"),
        ("placement", "EXPIRE gantt:{p:cell1}:claims 0"),
        ("placement", "UNLINK gantt:{p:cell1}:claims"),
        ("placement", "SET gantt:{p:cell1}:claims x"),
        ("placement", "SCRIPT KILL"),
        *[("nova-bridge", f"HSET gantt:{{p:cell1}}:{word} x y") for word in ("claims", "capacity", "used", "opened")],
        ("nova-bridge", "HGET gantt:{p:cell1}:claims x"),
        ("nova-bridge", "HGET gantt:{p:cell1}:state:placement x"),
        ("nova-bridge", "HGET gantt:{conductor}:instances x"),
        ("nova-bridge", "XREAD STREAMS gantt:{p:cell1}:log 0"),
        *[
            (user, command)
            for user in ("scheduler", "placement", "nova-bridge", "conductor")
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
def test_forbidden_commands_and_keys_are_refused(server, user, command):
    client = redis.Redis.from_url(server.url(user))

    with pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())

    assert server.client().ping()


def test_a_script_has_no_more_rights_than_its_caller(server):
    client = redis.Redis.from_url(server.url("scheduler"))

    with pytest.raises(redis.ResponseError, match=r"can't access|No permissions to access a key"):
        client.eval("return redis.call('SET', 'gantt:{conductor}:x', '1')", 1, "gantt:{p:a}:x")

    assert not server.client().exists("gantt:{conductor}:x")


@pytest.mark.parametrize(("user", "key"), [("scheduler", "gantt:{p:a}:x"), ("conductor", "gantt:{conductor}:x")])
def test_a_service_has_what_its_store_needs(server, user, key):
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


def test_placement_may_mark_what_replicas_must_acknowledge(server):
    client = redis.Redis.from_url(server.url("placement"))

    assert client.set("gantt:{p:a}:acknowledged", "")


def test_a_script_of_placement_may_not_read_decisions(server):
    client = redis.Redis.from_url(server.url("placement"))

    with pytest.raises(redis.ResponseError, match=r"can't access|No permissions to access a key"):
        client.eval("return redis.call('HGET', 'gantt:{p:a}:decided', 'x')", 1, "gantt:{p:a}:claims")


def test_connection_without_user_is_refused(server):
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url(server.url()).ping()
