# SPDX-License-Identifier: Apache-2.0
"""Permissions of the embedded bus's users, on both Redis programs: what a captured user may not do."""

from typing import Any

import pytest
import redis

from devstack.servers.redis_bus_users import BUS_SETTINGS, SERVICE_BUS_USERS
from rpcapi.access import broker_users
from rpcapi.conf.rpc import MAX_MESSAGE_BYTES
from rpcapi.messaging.drivers import redis_keys
from rpcapi.messaging.drivers.redis_channel import LUA
from rpcapi.messaging.drivers.redis_keys import BODIES

USERS = {user.name: user for user in broker_users.SERVICE_USERS}
SERVED = {"scheduler": "scheduler", "claims.cell1": "scheduler", "conductor": "conductor", "compute": "compute"}
RANDOM = "0f" * 16


@pytest.fixture
def server(make_redis, redis_flavour):
    return make_redis(binary=redis_flavour, users=SERVICE_BUS_USERS, settings=BUS_SETTINGS)


def test_server_accepts_no_larger_message_than_its_readers(server: Any) -> None:
    queue = queues("compute", "claims.cell1")[0]
    with redis.Redis.from_url(server.url("compute")) as client:
        client.lpush(queue, b"x" * MAX_MESSAGE_BYTES)
        with pytest.raises((redis.ConnectionError, redis.ResponseError)):
            client.lpush(queue, b"x" * (MAX_MESSAGE_BYTES + 1))
        assert client.llen(queue) == 1


def exchange(topic: str) -> str:
    return f"gantt-{topic.partition('.')[0]}"


def queues(sender: str, topic: str) -> list[str]:
    """Return the keys of the lists of a user's requests to a topic."""
    topic_queue = redis_keys.topic_queue(sender, exchange(topic), topic)
    return [topic_queue, topic_queue + BODIES, redis_keys.server_queue(sender, exchange(topic), topic, "h1") + BODIES]


def inbox(sender: str, reader: str) -> str:
    return redis_keys.inbox(sender, redis_keys.process(reader, RANDOM))


def refused(client: Any, *command: object) -> bool:
    """Return whether the server refuses a command, directly and in a script without declared keys."""
    refusals = []
    calls = [
        lambda: client.execute_command(*command),
        lambda: client.eval("return redis.call(unpack(ARGV))", 0, *command),
    ]
    for call in calls:
        try:
            call()
        except redis.exceptions.NoPermissionError:
            refusals.append(True)
        except redis.ResponseError as error:
            refusals.append(any(text in str(error) for text in ("ermission", "can't access", "can't run")))
        else:
            refusals.append(False)
    assert len(set(refusals)) == 1, (command, refusals)
    return refusals[0]


@pytest.mark.parametrize("user", USERS)
def test_user_appends_to_its_own_lists_of_the_services_that_it_calls(server, user):
    with redis.Redis.from_url(server.url(user)) as client:
        for sender in broker_users.BUS_USERS:
            for topic, service_user in SERVED.items():
                own = sender == user and topic.partition(".")[0] in USERS[user].calls
                # A server returns requests that it has not begun.
                requeues = user == service_user and sender in broker_users.callers_of(topic)
                for queue in queues(sender, topic):
                    assert refused(client, "LPUSH", queue, "x") is not (own or requeues), (user, queue)
                    assert refused(client, "RPOP", queue) is not requeues, (user, queue)


@pytest.mark.parametrize("user", USERS)
def test_user_reads_only_its_own_inboxes_and_writes_only_in_its_own_name(server, user):
    may_answer = {
        "scheduler": {"scheduler", "conductor", "compute", "operator", "reader", "client"},
        "conductor": {"scheduler", "conductor", "compute", "operator", "reader", "client"},
        "compute": {"compute", "conductor", "scheduler"},  # of schedulers, the inboxes of servers that it calls
        "operator": {"operator", "scheduler", "conductor"},
        "reader": {"reader", "scheduler", "conductor"},
        "client": {"client", "scheduler", "conductor"},
    }[user]
    with redis.Redis.from_url(server.url(user)) as client:
        for sender in broker_users.BUS_USERS:
            for reader in broker_users.BUS_USERS:
                key = inbox(sender, reader)
                own = sender == user and (reader in may_answer or reader == "admin")
                wakes = reader == user
                assert refused(client, "LPUSH", key, "x") is not (own or wakes), (user, key)
                assert refused(client, "RPOP", key) is not wakes, (user, key)


@pytest.mark.parametrize("user", USERS)
def test_user_removes_and_reads_nothing_else(server, user):
    other = "client" if user != "client" else "operator"
    own_queue = redis_keys.topic_queue(user, "gantt-scheduler", "scheduler")
    with redis.Redis.from_url(server.url(user)) as client:
        for command in (
            *[("DEL", own_queue), ("LREM", own_queue, "0", "x"), ("LTRIM", own_queue, "1", "0")],
            *[("LRANGE", own_queue, "0", "-1"), ("LSET", own_queue, "0", "x"), ("RENAME", own_queue, "x")],
            ("EXPIRE", redis_keys.topic_queue(other, "gantt-scheduler", "scheduler") + "x", "0"),
            ("HGETALL", redis_keys.received(user)),
            ("HGET", redis_keys.received("other"), "x"),
            ("LRANGE", redis_keys.dead_letters("scheduler" if user != "scheduler" else "compute"), "0", "-1"),
            ("LPUSH", redis_keys.dead_letters("admin"), "x"),
            ("SET", redis_keys.receipt(redis_keys.topic_queue(other, "e", "t"), "m"), "x"),
            ("GET", "other"),
            ("SET", "other", "x"),
        ):
            if command[0] == "LRANGE" and "dead_letters" in command[1] and user == "operator":
                continue  # an operator reads all dead letters
            if command[0] == "EXPIRE" and user == "scheduler":
                continue  # its own queue
            assert refused(client, *command), (user, command)


@pytest.mark.parametrize("user", USERS)
def test_user_registers_only_servers_of_its_own_services(server, user):
    with redis.Redis.from_url(server.url(user)) as client:
        for topic, service_user in SERVED.items():
            serves = user == service_user
            calls = topic.partition(".")[0] in USERS[user].calls
            process = redis_keys.server_process(exchange(topic), topic, "h1")
            fanout = redis_keys.fanout_members(exchange(topic), topic)
            assert refused(client, "SET", process, "x") is not serves
            assert refused(client, "GET", process) is not calls
            assert refused(client, "ZADD", fanout, "1", "x") is not serves
            assert refused(client, "ZRANGEBYSCORE", fanout, "0", "1") is not (
                user == "conductor" and topic == "compute"
            )


ADMINISTRATION = (
    *("FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "CONFIG GET requirepass", "CONFIG SET maxmemory 1", "SCRIPT FLUSH"),
    *("CLIENT LIST", "CLIENT KILL TYPE normal", "ACL LIST", "ACL SETUSER x on nopass +@all ~*", "SHUTDOWN NOSAVE"),
    *("REPLICAOF NO ONE", "MONITOR", "SUBSCRIBE x", "PUBLISH x y", "SWAPDB 0 1", "FUNCTION FLUSH", "INFO"),
)


@pytest.mark.parametrize("user", USERS)
def test_user_does_not_administer_the_server(server, user):
    with redis.Redis.from_url(server.url(user)) as client:
        for command in ADMINISTRATION:
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*command.split())
    assert server.client().ping()


def test_script_of_a_sender_has_no_more_rights_than_the_sender(server):
    forged = redis_keys.topic_queue("operator", "gantt-claims", "claims.cell1")
    with redis.Redis.from_url(server.url("client")) as client:
        send = client.register_script((LUA / "send.lua").read_text(encoding="utf-8"))
        with pytest.raises(redis.ResponseError, match=r"can't access|ermission"):
            send(args=[forged + BODIES, 10, 60, "message", "", 20, forged, 0, 60, ""])
        own = redis_keys.topic_queue("client", "gantt-scheduler", "scheduler")
        assert send(args=[own + BODIES, 10, 60, "message", "", 20, own, 0, 60, ""]) == 1
    with server.client() as admin:
        assert not admin.exists(forged, forged + BODIES)
        assert admin.llen(own + BODIES) == 1


def test_connection_without_user_is_refused(server):
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url(server.url()).ping()
