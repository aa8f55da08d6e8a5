# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the queues of the bus in Redis."""

from devstack.servers.redis import RedisServer
from rpcapi.access import broker_users
from rpcapi.messaging.drivers import redis_keys
from rpcapi.messaging.drivers.redis_channel import BELL
from rpcapi.messaging.drivers.redis_keys import BODIES
from tests.support.bus.bus_peer import Peers


def topic_queue(peers: Peers) -> str:
    """Return the queue of the topic for the administrator, who is everybody on a server without users."""
    return redis_keys.topic_queue(broker_users.ADMIN, peers.exchange, peers.topic)


def waiting(server: RedisServer, peers: Peers) -> int:
    """Return the number of requests to the topic that no server has received."""
    with server.client() as client:
        return int(client.llen(topic_queue(peers) + BODIES))


def inbox_with(server: RedisServer, answer: str) -> str | None:
    """Return the inbox that contains this answer."""
    with server.client() as client:
        inboxes = client.scan_iter("gantt_bus:inbox:*")
        matches = (str(key) for key in inboxes if any(answer in text for text in client.lrange(key, 0, -1)))
        return next(matches, None)


def push(server: RedisServer, queue: str, body: str) -> None:
    with server.client() as redis:
        redis.lpush(queue + BODIES, body)
        redis.lpush(queue, BELL)
