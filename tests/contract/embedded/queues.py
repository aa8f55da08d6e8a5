# SPDX-License-Identifier: Apache-2.0
"""What lies in Redis, and what a test puts there."""

from devstack.servers.redis import RedisServer
from rpcapi.drivers import names
from rpcapi.drivers.transport import BELL, BODIES
from tests.contract.bus_peer import Peers


def waiting(server: RedisServer, peers: Peers) -> int:
    """How many requests to the topic no server has received."""
    with server.client() as client:
        return int(client.llen(names.topic_queue(peers.exchange, peers.topic) + BODIES))


def inbox_with(server: RedisServer, answer: str) -> str | None:
    """The inbox in which this answer lies."""
    with server.client() as client:
        inboxes = client.scan_iter("gantt_bus:inbox:*")
        found = (str(key) for key in inboxes if any(answer in text for text in client.lrange(key, 0, -1)))
        return next(found, None)


def push(server: RedisServer, queue: str, body: str) -> None:
    with server.client() as redis:
        redis.lpush(queue + BODIES, body)
        redis.lpush(queue, BELL)
