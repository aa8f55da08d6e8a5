# SPDX-License-Identifier: Apache-2.0
"""A receiver with a scripted channel and outbox, run step by step."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_messaging import Target

from rpcapi.access import bus_users
from rpcapi.conf.bus_address import RedisAddress
from rpcapi.messaging.drivers import transport, wire
from rpcapi.messaging.drivers.backoff import Backoff
from rpcapi.messaging.drivers.incoming import Delivery
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.receiver import Receiver
from rpcapi.messaging.drivers.redis_channel import TransportLimits

ADDRESS = RedisAddress("h", 1, None, 0, None, None)
LIMITS = TransportLimits(
    socket_timeout=0.01,
    visibility_timeout=10,
    queue_ttl=60,
    inbox_ttl=60,
    connections=2,
    queue_length=100,
    message_bytes=10_000,
)


class Outbox:
    user = "conductor"

    def __init__(self) -> None:
        self.joins: list[list[str]] = []
        self.leaves: list[str] = []
        self.acknowledged: list[str] = []
        self.requeued: list[str] = []
        self.join_error: Exception | None = None

    def retry(self, action: Any, deadline: float) -> Any:
        return action()

    def join(self, targets: Any, process: str, ttl: int) -> None:
        if self.join_error is not None:
            raise self.join_error
        self.joins.append([target.label for target in targets])

    def leave(self, fanout: str, inbox: str) -> None:
        self.leaves.append(fanout)

    def wake(self, inbox: str, ttl: int) -> None:
        pass

    def acknowledge(self, tag: str) -> bool:
        self.acknowledged.append(tag)
        return True

    def requeue(self, tag: str) -> None:
        self.requeued.append(tag)


class Channel:
    def __init__(self) -> None:
        self.callbacks: dict[str, Any] = {}
        self.reading = False
        self.renewed: list[list[str]] = []
        self.rung: list[list[str]] = []
        self.restores = 0
        self.server_queues: Any = ()
        self.waiting: dict[str, list[Any]] = {}  # bodies in servers' queues
        self.connection = SimpleNamespace(deliver_body=self._deliver_body)

    def is_reading(self) -> bool:
        return self.reading

    def basic_consume(self, queue: str, no_ack: bool, callback: Any, consumer_tag: str) -> None:
        self.callbacks[queue] = callback

    def basic_cancel(self, queue: str) -> None:
        del self.callbacks[queue]

    def renew(self, tags: list[str]) -> None:
        self.renewed.append(tags)

    def restore_abandoned(self) -> None:
        self.restores += 1

    def ring(self, queues: list[str]) -> None:
        self.rung.append(queues)

    def nonempty(self, queues: list[str]) -> list[str]:
        return [queue for queue in queues if self.waiting.get(queue)]

    def _deliver_body(self, source: str, queue: str) -> bool:
        if bodies := self.waiting.get(source):
            self.callbacks[queue](bodies.pop(0))
            return True
        return False

    def abandon(self) -> None:
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
        self.events: list[Any] = []
        connection = SimpleNamespace(drain_events=self._drain, release=lambda: None)
        monkeypatch.setattr(transport, "connect", lambda address, limits: (connection, self.channel))
        monkeypatch.setattr(Receiver, "start", lambda receiver: None)
        outbox: Any = self.outbox
        self.receiver = Receiver(
            ADDRESS,
            LIMITS,
            Backoff(0.0, 0.0),
            outbox,
            reply_ttl=60,
            on_reply=lambda reply, sender: self.replies.append((reply, sender)),
        )

    def inboxes(self) -> set[str]:
        """Return the keys of the process's inboxes."""
        return {f"gantt_bus:inbox:{user}:conductor:{self.receiver.reply_to}" for user in bus_users.NAMES}

    def _drain(self, timeout: float) -> None:
        if not self.events:
            raise TimeoutError
        queue, message = self.events.pop(0)
        self.channel.callbacks[queue](message)

    def step(self) -> None:
        self.receiver._run_once()

    def receive(self, queue: str, body: Any, tag: str = "t") -> None:
        """Let one message arrive in ``queue``, which the receiver must read."""
        self.step()
        self.events.append((queue, received(queue, body, tag)))
        self.step()


def received(queue: str, body: Any, tag: str = "t") -> Any:
    """Return a message as kombu's channel hands it over."""
    text = body if isinstance(body, str) else wire.encode(body)
    return SimpleNamespace(
        delivery_info={"routing_key": queue}, delivery_tag=tag, decode=lambda: json.loads(text), accept=None
    )
