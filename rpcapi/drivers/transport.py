# SPDX-License-Identifier: Apache-2.0
"""kombu's Redis transport, with a receipt of messages that a dying receiver cannot break.

kombu pops a message and then records it as received: what is popped for a connection that breaks just then is
lost. Here a queue is two lists. kombu pops from the first, which holds only bells, and a script then moves
the oldest body from the second to the record of what was received. A bell that is lost is rung again. What
has one reader, who alone would miss it, is sent the plain way, as a bell that is the message itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic, time
from typing import Any

import redis
from kombu import Connection
from kombu.transport import redis as kombu_redis
from kombu.utils.json import dumps, loads
from redis.commands.core import Script

from rpcapi.drivers import scripts
from rpcapi.drivers.address import Address

PREFIX = "gantt_bus"
BODIES = ":bodies"
BELL = 0
TAG_LENGTH = 36
RECEIPT_SECONDS = 20

# What redis-py raises while Redis cannot be reached, or not yet: worth another attempt.
AWAY = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.BusyLoadingError,
    OSError,
)


@dataclass(frozen=True)
class Limits:
    """How a connection behaves: seconds, but for `connections`, which counts."""

    socket_timeout: float
    visibility_timeout: int
    queue_ttl: int
    connections: int


@dataclass(frozen=True)
class Parcel:
    """A message to append to a queue, which is then kept for `ttl` seconds after this last message.

    One to a single reader goes `direct`. With `receipt`, a key of that name says for RECEIPT_SECONDS that the
    message arrived.
    """

    queue: str
    text: str
    content_type: str
    ttl: int
    direct: bool = False
    receipt: str | None = None


class BusChannel(kombu_redis.Channel):
    """A channel without priorities, bindings and base64, on which every list expires."""

    received_key = f"{PREFIX}:received"
    received_index_key = f"{PREFIX}:received_index"
    queue_ttl = 3600
    address: Address
    connection_class: Any
    _brpop_sent_at: Any = None
    from_transport_options: Any = (*kombu_redis.Channel.from_transport_options, "address", "queue_ttl")

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        # kombu makes a new client for every operation; that alone costs a third of a millisecond, several
        # times a call. A redis-py client on a pool may be shared between threads, so one does for all.
        yield client or self._shared_client

    @cached_property
    def _shared_client(self) -> redis.Redis:
        return self._create_client()

    def publish(self, parcel: Parcel) -> None:
        """Append to a queue."""
        message = self.prepare_message(parcel.text, content_type=parcel.content_type, content_encoding="utf-8")
        self.basic_publish(message, exchange="", routing_key=parcel.queue, parcel=parcel)

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        parcel: Parcel = kwargs["parcel"]
        body = dumps(message)
        # Not as a transaction: all goes out in one packet, and MULTI and EXEC would double the answers.
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            if parcel.direct:
                pipe.lpush(queue, body)
            else:
                pipe.lpush(queue + BODIES, message["properties"]["delivery_tag"] + body)
                pipe.expire(queue + BODIES, parcel.ttl)
                pipe.lpush(queue, BELL)
            pipe.expire(queue, parcel.ttl)
            if parcel.receipt:
                pipe.set(parcel.receipt, "", ex=RECEIPT_SECONDS)
            pipe.execute()

    def arrived(self, receipt: str) -> bool:
        """Whether a parcel with this receipt is known to have arrived."""
        with self.conn_or_acquire() as client:
            return bool(client.exists(receipt))

    def claim(self, queue: str) -> dict[str, Any] | None:
        """Receive the oldest message of a queue; None when it is empty, or what lay there was no message."""
        keys = [queue + BODIES, self.received_key, self.received_index_key]
        body = self._claim(keys=keys, args=[TAG_LENGTH, time(), queue])
        if body is None:
            return None
        tag, text = body[:TAG_LENGTH], body[TAG_LENGTH:]
        try:
            return dict(loads(text))
        except (TypeError, ValueError):
            kombu_redis.warning("What lay in %s is no message and is dropped: %r", queue, text[:200])
            self.take(tag)
            return None

    def take(self, delivery_tag: str | bytes) -> bool:
        """Acknowledge; False when the message was given to somebody else meanwhile."""
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            _, removed = (
                pipe.zrem(self.received_index_key, delivery_tag).hdel(self.received_key, delivery_tag).execute()
            )
        return bool(removed)

    def renew(self, delivery_tags: list[str]) -> None:
        """Say that these are still held, for another visibility timeout."""
        with self.conn_or_acquire() as client:
            client.zadd(self.received_index_key, dict.fromkeys(delivery_tags, time()), xx=True)

    def requeue(self, delivery_tag: str) -> None:
        """Put a received message back, first in line."""
        self._restore_received("", delivery_tag)

    def restore_abandoned(self) -> None:
        """Put back what nobody renewed for a visibility timeout, at most 100 at a time."""
        self._restore_received(time() - self.visibility_timeout, "")

    def _restore_received(self, until: float | str, tag: str) -> None:
        keys = [self.received_key, self.received_index_key]
        self._restore_script(keys=keys, args=[until, tag, 100, self.queue_ttl, BODIES])

    def ring(self, queues: list[str]) -> None:
        """Make sure that there is a bell for each body in these queues."""
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for queue in queues:
                self._ring(keys=[queue, queue + BODIES], args=[self.queue_ttl], client=pipe)
            pipe.execute()

    @cached_property
    def _claim(self) -> Script:
        return self._shared_client.register_script(scripts.text("claim"))

    @cached_property
    def _restore_script(self) -> Script:
        return self._shared_client.register_script(scripts.text("restore"))

    @cached_property
    def _ring(self) -> Script:
        return self._shared_client.register_script(scripts.text("ring"))

    def _brpop_start(self, timeout: float | None = None) -> None:
        # As kombu does it, less what costs time per queue for priorities and prefixes: there may be hundreds.
        queues = self._queue_cycle.consume(len(self._active_queues))
        if queues:
            self._in_poll = self.client.connection
            self._brpop_sent_at = monotonic()
            self.client.connection.send_command("BRPOP", *queues, timeout or self.brpop_timeout)

    @property
    def active_queues(self) -> list[str]:
        """The queues that are read."""
        return list(self._active_queues)

    def reading(self) -> bool:
        """Whether a blocking read of the queues is under way."""
        return bool(self._in_poll)

    def abandon(self) -> None:
        """Close without waiting for a read that will not end."""
        self._in_poll = False
        self.close()

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # kombu would carry the address through a URL; given as it is, no quoting can go wrong.
        self.connection_class = redis.UnixDomainSocketConnection if self.address.socket else redis.Connection
        parameters = super()._connparams(asynchronous=asynchronous)
        for name in ("host", "port", "path", "username", "password", "db"):
            parameters.pop(name, None)
        if self.address.socket:
            for name in ("socket_connect_timeout", "socket_keepalive", "socket_keepalive_options"):
                parameters.pop(name, None)
        return {**parameters, **self.address.connection_arguments()}

    def _get_pool(self, asynchronous: bool = False) -> redis.ConnectionPool:
        # A burst of senders waits for a connection instead of failing.
        parameters = self._connparams(asynchronous=asynchronous)
        return redis.BlockingConnectionPool(timeout=parameters["socket_timeout"], **parameters)


class BusTransport(kombu_redis.Transport):
    """The transport that makes such channels, and answers a bell by fetching the message."""

    Channel = BusChannel

    def _deliver(self, message: Any, queue: str) -> None:
        if message == BELL:
            message = self.channels[0].claim(queue)
        if message is not None:
            super()._deliver(message, queue)

    def _reject_inbound_message(self, raw_message: dict[str, Any]) -> None:
        # Received for a listener that has stopped since the read began.
        self.channels[0].requeue(raw_message["properties"]["delivery_tag"])


def connect(address: Address, limits: Limits) -> tuple[Connection, BusChannel]:
    """A kombu connection to the bus and a channel on it; Redis has answered on it once.

    :raises AWAY: when Redis cannot be reached; it is tried once
    """
    connection = Connection(
        transport=BusTransport,
        transport_options={
            "address": address,
            "queue_ttl": limits.queue_ttl,
            "body_encoding": None,
            "priority_steps": [0],
            # `claim` records what was received.
            "ack_emulation": False,
            "socket_timeout": limits.socket_timeout,
            "socket_connect_timeout": limits.socket_timeout,
            "visibility_timeout": limits.visibility_timeout,
            "health_check_interval": max(1, int(limits.socket_timeout)),
            "max_connections": limits.connections,
            "client_name": PREFIX,
        },
    )
    # Whoever connects decides how often to try again; kombu left to itself would sleep for two seconds.
    connection.ensure_connection(max_retries=0, reraise_as_library_errors=False)
    return connection, connection.channel()
