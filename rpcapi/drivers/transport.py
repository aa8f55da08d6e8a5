# SPDX-License-Identifier: Apache-2.0
"""kombu's Redis transport, narrowed to what RPC needs: lists with an expiry, and acknowledgements that tell."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import time
from typing import Any

import redis
from kombu import Connection
from kombu.transport import redis as kombu_redis

from rpcapi.drivers.address import Address

PREFIX = "gantt_bus"
UNRECORDED = "gantt_unrecorded"

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


class BusQoS(kombu_redis.QoS):
    """What was received and not yet acknowledged, kept in Redis alone.

    kombu also keeps it in the receiving channel, for that channel's own bookkeeping. Here any thread
    acknowledges, and the listeners count their own, so that copy would only grow.
    """

    restore_at_shutdown = False

    @contextmanager
    def pipe_or_acquire(self, pipe: Any = None, client: Any = None) -> Iterator[Any]:
        # Not as a transaction: the commands go out in one packet, and MULTI and EXEC double the answers.
        with self.channel.conn_or_acquire(client) as connection:
            yield pipe or connection.pipeline(transaction=False)

    def append(self, message: Any, delivery_tag: str) -> None:
        """Record what was just popped. Should Redis go away right then, the message is in hand all the same."""
        try:
            super().append(message, delivery_tag)
        except AWAY:
            message.properties[UNRECORDED] = True
        self._delivered.pop(delivery_tag, None)

    def take(self, delivery_tag: str) -> bool:
        """Acknowledge; False when the message was given to somebody else meanwhile."""
        _, removed = self._remove_from_indices(delivery_tag).execute()
        return bool(removed)

    def renew(self, delivery_tags: list[str]) -> None:
        """Say that these are still held, for another visibility timeout."""
        now = time()
        with self.channel.conn_or_acquire() as client:
            client.zadd(self.unacked_index_key, dict.fromkeys(delivery_tags, now), xx=True)

    def restore_abandoned(self, most: int = 100) -> None:
        """Put back what nobody renewed for a visibility timeout, at most so many at a time."""
        self.restore_visible(num=most, interval=1)


class BusChannel(kombu_redis.Channel):
    """A channel on which a queue is one list: no priorities, no bindings, no base64, and every list expires."""

    QoS = BusQoS
    unacked_key = f"{PREFIX}:unacked"
    unacked_index_key = f"{PREFIX}:unacked_index"
    unacked_mutex_key = f"{PREFIX}:unacked_mutex"
    # kombu calls restore on every idle turn; the receiver does it by the clock instead.
    unacked_restore_throttle = 1 << 62
    queue_ttl = 3600
    address: Address
    connection_class: Any
    from_transport_options: Any = (*kombu_redis.Channel.from_transport_options, "address", "queue_ttl")

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        # kombu makes a new client for every operation; that alone costs a third of a millisecond, several
        # times a call. A redis-py client on a pool may be shared between threads, so one does for all.
        yield client or self._shared_client

    @cached_property
    def _shared_client(self) -> redis.Redis:
        return self._create_client()

    def publish(self, queue: str, text: str, content_type: str, ttl: int) -> None:
        """Append to a queue, which is then kept for `ttl` seconds after this last message."""
        message = self.prepare_message(text, content_type=content_type, content_encoding="utf-8")
        self.basic_publish(message, exchange="", routing_key=queue, ttl=ttl)

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            pipe.lpush(queue, kombu_redis.dumps(message)).expire(queue, kwargs["ttl"]).execute()

    def reading(self) -> bool:
        """Whether a blocking read of the queues is under way."""
        return bool(self._in_poll)

    def abandon(self) -> None:
        """Close without waiting for a read that will not end."""
        self._in_poll = False
        self.close()

    def _do_restore_message(
        self, payload: dict[str, Any], exchange: str, routing_key: str, pipe: Any, leftmost: bool = False
    ) -> None:
        super()._do_restore_message(payload, exchange, routing_key, pipe, leftmost)
        pipe.expire(routing_key, self.queue_ttl)

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
    """The transport that makes such channels."""

    Channel = BusChannel


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
            "socket_timeout": limits.socket_timeout,
            "socket_connect_timeout": limits.socket_timeout,
            "visibility_timeout": limits.visibility_timeout,
            # A holder that dies in the middle of restoring must not stop the others for long.
            "unacked_mutex_expire": limits.visibility_timeout,
            "health_check_interval": max(1, int(limits.socket_timeout)),
            "max_connections": limits.connections,
            "client_name": PREFIX,
        },
    )
    # Whoever connects decides how often to try again; kombu left to itself would sleep for two seconds.
    connection.ensure_connection(max_retries=0, reraise_as_library_errors=False)
    return connection, connection.channel()
