# SPDX-License-Identifier: Apache-2.0
"""A receiver with a scripted channel and outbox, run step by step."""

from typing import Any

import pytest
from oslo_messaging import Target

from rpcapi.access import broker_users
from rpcapi.conf.transport import RedisAddress
from rpcapi.messaging.drivers import wire
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.listener import Delivery
from rpcapi.messaging.drivers.receiver import Receiver
from rpcapi.messaging.drivers.redis_channel import BusLimits

LIMITS = BusLimits(
    prefetch=8,
    socket_timeout=0.01,
    send_timeout=10.0,
    visibility_timeout=10,
    request_ttl=60,
    reply_ttl=60,
    max_connections=2,
    max_queue_length=100,
    max_message_bytes=10_000,
    reconnect_backoff=0.0,
    reconnect_backoff_max=0.0,
)


class Outbox:
    user = "conductor"

    def __init__(self) -> None:
        self.channel = self.client = self
        self.joins: list[list[str]] = []
        self.leaves: list[str] = []
        self.acknowledged: list[str] = []
        self.join_error: Exception | None = None

    def retry(self, action: Any, deadline: float) -> Any:
        return action()

    def join(self, targets: Any, process: str) -> None:
        if self.join_error is not None:
            raise self.join_error
        self.joins.append([target.label for target in targets])

    def zrem(self, fanout: str, process: str) -> None:
        self.leaves.append(fanout)

    def wake(self, inbox: str) -> None:
        pass

    def acknowledge(self, tag: str) -> bool:
        self.acknowledged.append(tag)
        return True


class Channel:
    """Reads from ``arrivals``, and receives what ``waiting`` has of each queue."""

    address = RedisAddress("h", 1, None, 0, None, None)
    limits = LIMITS

    def __init__(self) -> None:
        self.client = self
        self.pings = 0
        self.queues: list[str] = []
        self.arrivals: list[tuple[str, bytes]] = []
        self.has_backlog = False
        self.backlog: list[bytes] = []
        self.renewed: list[list[str]] = []
        self.rung: list[list[str]] = []
        self.restores = 0
        self.waiting: dict[str, list[tuple[str, bytes]]] = {}
        self.buried: list[tuple[str, bytes, str]] = []
        self.acknowledged: list[str] = []

    def ping(self) -> None:
        self.pings += 1

    def read(self, queues: list[str]) -> tuple[str, bytes, bool] | None:
        self.queues = list(queues)
        if not self.arrivals:
            return None
        queue, entry = self.arrivals.pop(0)
        assert queue in queues
        return queue, entry, self.has_backlog

    def take(self, inbox: str) -> list[bytes]:
        entries, self.backlog = self.backlog, []
        return entries

    def claim(self, queue: str) -> tuple[str, bytes] | None:
        bodies = self.waiting.get(queue)
        return bodies.pop(0) if bodies else None

    def bury(self, queue: str, body: bytes, error: Exception) -> None:
        self.buried.append((queue, body, str(error)))

    def acknowledge(self, tag: str) -> None:
        self.acknowledged.append(tag)

    def renew(self, tags: list[str]) -> None:
        self.renewed.append(tags)

    def restore_abandoned(self) -> None:
        self.restores += 1

    def ring(self, queues: list[str]) -> None:
        self.rung.append(queues)

    def nonempty(self, queues: list[str]) -> list[str]:
        return [queue for queue in queues if self.waiting.get(queue)]

    def close(self) -> None:
        pass


class Listener:
    def __init__(self, topic: str = "compute", server: str = "h1") -> None:
        self.listen_target = ListenTarget.of(Target(topic=topic, server=server), "gantt")
        self.open = True
        self.tags: list[str] = []
        self.offers: list[Delivery] = []

    def unacknowledged_tags(self) -> list[str]:
        return self.tags

    def offer(self, delivery: Delivery) -> None:
        self.offers.append(delivery)


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outbox, self.channel, self.replies = Outbox(), Channel(), []
        monkeypatch.setattr(Receiver, "start", lambda receiver: None)
        outbox: Any = self.outbox
        channel: Any = self.channel
        self.receiver = Receiver(channel, outbox, lambda reply, sender: self.replies.append((reply, sender)))

    def inboxes(self) -> set[str]:
        """Return the keys of the process's inboxes."""
        return {f"gantt_bus:inbox:{user}:conductor:{self.receiver.reply_to}" for user in broker_users.BUS_USERS}

    def step(self) -> None:
        self.receiver.run_once()

    def receive(self, queue: str, body: Any, tag: str = "t") -> None:
        """Let one message arrive in ``queue``, which the receiver must read."""
        self.step()
        if queue in self.inboxes():
            self.channel.arrivals.append((queue, encoded(body)))
        else:
            self.channel.waiting[queue] = [(tag, encoded(body))]
            self.channel.arrivals.append((queue, b"0"))
        self.step()


def encoded(body: Any) -> bytes:
    """Return the text of a message."""
    return (body if isinstance(body, str) else wire.encode(body)).encode()
