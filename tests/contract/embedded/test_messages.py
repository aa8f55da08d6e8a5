# SPDX-License-Identifier: Apache-2.0
"""Messages that are foreign, duplicated, stale, or without their wake-up entry."""

import json

import oslo_messaging
import pytest

from devstack.servers.redis import RedisServer
from rpcapi.messaging.drivers import errors, redis_keys, wire
from rpcapi.messaging.drivers.redis_channel import TAG_LENGTH
from rpcapi.messaging.drivers.redis_keys import BODIES
from tests.contract.embedded.queues import push, topic_queue
from tests.support.bus.bus_peer import Peers, eventually


def test_foreign_messages_are_dropped_and_the_server_continues(peers: Peers, redis_server: RedisServer) -> None:
    endpoint = peers.serve()
    queue = topic_queue(peers)
    tag = "t" * TAG_LENGTH
    other = {"kind": "Rumour"}
    newer = {"kind": "Request", "wire": wire.WIRE_VERSION + 1}
    for text in ("not even JSON", json.dumps(["no message"]), json.dumps(other), json.dumps(newer)):
        push(redis_server, queue, tag + text)
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    assert endpoint.notes == []
    with redis_server.client() as redis:
        eventually(lambda: not redis.llen(queue + BODIES), "all were read")
        assert not redis.hexists(redis_keys.received("admin"), tag), "a dropped message must not be redelivered"


def test_duplicated_message_runs_once(peers: Peers, redis_server: RedisServer) -> None:
    queue = topic_queue(peers)
    client = peers.client()
    client.cast({}, "note", value="once")
    with redis_server.client() as redis:
        (body,) = redis.lrange(queue + BODIES, 0, -1)
    push(redis_server, queue, "t" * TAG_LENGTH + body[TAG_LENGTH:])
    endpoint = peers.serve(pool=1)
    client.call({}, "echo", value=1)
    assert endpoint.notes == ["once"]


def test_expired_cast_is_dropped(peers: Peers, redis_server: RedisServer) -> None:
    """The queue is kept for later messages, so the message has its own deadline."""
    queue = topic_queue(peers)
    client = peers.client()
    client.cast({}, "note", value="stale")
    with redis_server.client() as redis:
        body = redis.rpop(queue + BODIES)
        message = json.loads(body[TAG_LENGTH:])
        redis.lpush(queue + BODIES, body[:TAG_LENGTH] + json.dumps({**message, "expires_at": 1.0}))
    endpoint = peers.serve(pool=1)
    client.cast({}, "note", value="fresh")
    eventually(lambda: endpoint.notes, "the fresh cast ran")
    assert endpoint.notes == ["fresh"]


def test_message_without_its_wake_up_entry_is_received(peers: Peers, redis_server: RedisServer) -> None:
    queue = topic_queue(peers)
    peers.client().cast({}, "note", value="message")
    with redis_server.client() as redis:
        assert redis.rpop(queue) is not None
    endpoint = peers.serve()
    eventually(lambda: endpoint.notes == ["message"], "the message was received without its wake-up entry")


def test_notifications_are_refused_with_the_reason(peers: Peers) -> None:
    driver = peers.transport()._driver
    target = oslo_messaging.Target(topic="notifications")
    with pytest.raises(errors.NotificationsUnsupported, match="RPC only"):
        driver.send_notification(target, {}, {}, 2.0)
    with pytest.raises(NotImplementedError, match="RPC only"):
        driver.listen_for_notifications([(target, "info")], None, 1, None)
