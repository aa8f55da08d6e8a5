# SPDX-License-Identifier: Apache-2.0
"""Redis commands of the embedded bus.

A blocking read loses the popped entry if its connection breaks. So a queue has two lists: a receiver pops a wake-up
token ("bell") from the first, then a script atomically moves the oldest body of the second to the received messages.
Lost bells are replaced. The bells of one server's queue are in the inbox of the server's process, because a process
with hundreds of servers can block on a few lists only. Replies and fan-out requests are in the inbox itself.
"""

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time
from typing import Any

import redis

from rpcapi.access import broker_users
from rpcapi.conf.transport import RedisAddress
from rpcapi.messaging.drivers import dead_letters, errors, redis_keys
from rpcapi.messaging.drivers.redis_keys import BODIES

LOG = logging.getLogger(__name__)

LUA = Path(__file__).parent / "lua"
BELL = "0"  # bell of a topic queue; a bell in an inbox is the queue's name
TAG_LENGTH = 36  # in a redelivered body, a digit with the number of redeliveries follows the tag
RECEIPT_SECONDS = 20
POLL_SECONDS = 1.0
BATCH = 100  # entries read together from an inbox with a backlog
MAX_REDELIVERIES = 2  # after one more lost receiver the message becomes a dead letter
BACKLOG_SECONDS = 0.0005  # a faster read did not wait: the entry arrived during the last delivery
# Errors while Redis is unreachable or loading, which justify a retry.
CONNECTION_ERRORS = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.BusyLoadingError,
    OSError,
)


@dataclass(frozen=True)
class BusLimits:
    visibility_timeout: int
    prefetch: int
    request_ttl: int
    reply_ttl: int
    max_connections: int
    socket_timeout: float
    send_timeout: float
    reconnect_backoff: float
    reconnect_backoff_max: float
    max_queue_length: int
    max_message_bytes: int

    def pauses(self) -> Iterator[float]:
        pause = self.reconnect_backoff
        while True:
            yield min(pause, self.reconnect_backoff_max)
            pause = min(pause * 2, self.reconnect_backoff_max)


class BusChannel:
    """Commands on a shared, lazy pool; every list expires. Raises CONNECTION_ERRORS while Redis is unreachable."""

    def __init__(self, address: RedisAddress, limits: BusLimits) -> None:
        self.address = address
        self.limits = limits
        self.user = broker_users.user_of(address.username)
        self.received_key = redis_keys.received(self.user)
        self.received_index_key = redis_keys.received_index(self.user)
        self.client: Any = redis.Redis(connection_pool=_pool(address, limits))
        self._send, self._claim = self._script("send"), self._script("claim")
        self._take, self._restore, self._ring = self._script("take"), self._script("restore"), self._script("ring")

    def _script(self, verb: str) -> Any:
        return self.client.register_script((LUA / f"{verb}.lua").read_text(encoding="utf-8"))

    def publish(self, queue: str, text: str, process_key: str | None = None, receipt: str | None = None) -> None:
        """Append to a queue or inbox, and set the key `receipt` on success. Raises QueueFull or MessageTooLarge."""
        limits = self.limits
        if redis_keys.is_inbox(queue):
            key, entry, ttl = queue, text.encode(), limits.reply_ttl
            bell: tuple[str | int, ...] = ("", BELL, ttl, "")
        else:
            key, entry, ttl = queue + BODIES, f"{uuid.uuid4()}{text}".encode(), limits.request_ttl
            bell = (queue, BELL, ttl, "")
        if process_key is not None:
            bell = (redis_keys.inbox(redis_keys.sender_of(queue), ""), queue, limits.reply_ttl, process_key)
        if len(entry) > limits.max_message_bytes:
            raise errors.MessageTooLarge(len(entry), limits.max_message_bytes)
        if not self._send(args=[key, limits.max_queue_length, ttl, entry, receipt or "", RECEIPT_SECONDS, *bell]):
            raise errors.QueueFull(queue, limits.max_queue_length)

    def has_arrived(self, receipt: str) -> bool:
        return bool(self.client.exists(receipt))

    def read(self, queues: Sequence[str]) -> tuple[str, bytes, bool] | None:
        """Wait for an entry; return its list, the entry, and whether the inbox probably has more."""
        sent_at = monotonic()
        answer: Any = self.client.brpop(queues, timeout=min(POLL_SECONDS, self.limits.socket_timeout / 2))
        if answer is None:
            return None
        queue, entry = answer[0].decode(), answer[1]
        if len(entry) > self.limits.max_message_bytes:
            self.bury_large(queue, entry[: dead_letters.MAX_TEXT], len(entry))
            return None
        return queue, entry, redis_keys.is_inbox(queue) and monotonic() - sent_at < BACKLOG_SECONDS

    def take(self, inbox: str) -> list[bytes]:
        """Remove and return the oldest entries of an inbox; oversized entries become dead letters."""
        entries = self._take(keys=[inbox], args=[BATCH, self.limits.max_message_bytes, dead_letters.MAX_TEXT])
        for entry in entries:
            if isinstance(entry, list):
                self.bury_large(inbox, *entry)
        return [entry for entry in entries if not isinstance(entry, list)]

    def claim(self, queue: str) -> tuple[str, bytes] | None:
        """Receive a queue's oldest message as (delivery tag, text); oversized messages become dead letters."""
        keys = [queue + BODIES, self.received_key, self.received_index_key]
        args: list[Any] = [TAG_LENGTH, time(), queue, self.limits.max_message_bytes + 1, dead_letters.MAX_TEXT]
        while isinstance(body := self._claim(keys=keys, args=args), list):
            self.bury_large(queue, *body)
        if not body:
            return None
        tag, text = body[:TAG_LENGTH].decode(errors="replace"), body[TAG_LENGTH:]
        return tag, text[1:] if text[:1].isdigit() else text

    def bury(self, queue: str, body: bytes, error: Exception, size: int | None = None) -> None:
        """Make a message a dead letter. With ``size``, ``body`` is only its beginning."""
        letter = dead_letters.describe(queue, body, f"{type(error).__name__}: {error}", size)
        dead_letters.write(self.client, self.user, letter)
        LOG.warning("Message of %s became a dead letter: %s", queue, letter.reason)

    def bury_large(self, queue: str, beginning: bytes, size: int) -> None:
        self.bury(queue, beginning, errors.MessageTooLarge(size, self.limits.max_message_bytes), size)

    def acknowledge(self, delivery_tag: str) -> bool:
        """Acknowledge a message; return False if another server has received it."""
        with self.client.pipeline(transaction=False) as pipe:
            _, removed = (
                pipe.zrem(self.received_index_key, delivery_tag).hdel(self.received_key, delivery_tag).execute()
            )
        return bool(removed)

    def renew(self, delivery_tags: list[str]) -> None:
        """Restart the visibility timeout of received messages."""
        self.client.zadd(self.received_index_key, dict.fromkeys(delivery_tags, time()), xx=True)

    def requeue(self, delivery_tag: str) -> None:
        self._restore_received("", delivery_tag)

    def restore_abandoned(self) -> None:
        """Requeue up to 100 messages past their visibility timeout, or bury them after MAX_REDELIVERIES."""
        self._restore_received(time() - self.limits.visibility_timeout, "")

    def _restore_received(self, until: float | str, tag: str) -> None:
        keys = [self.received_key, self.received_index_key]
        args: list[Any] = [until, tag, 100, self.limits.request_ttl, BODIES, redis_keys.SERVER_QUEUES]
        args += [TAG_LENGTH, MAX_REDELIVERIES, dead_letters.MAX_TEXT]
        for queue, beginning, size in self._restore(keys=keys, args=args):
            self.bury(queue.decode(errors="replace"), beginning, errors.ReceiversLost(MAX_REDELIVERIES + 1), size)

    def nonempty(self, queues: list[str]) -> list[str]:
        return [queue for queue, length in zip(queues, self.lengths(queues), strict=True) if length]

    def lengths(self, queues: Sequence[str]) -> list[int]:
        with self.client.pipeline(transaction=False) as pipe:
            for queue in queues:
                pipe.llen(queue + BODIES)
            lengths: list[int] = pipe.execute()
        return lengths

    def ring(self, queues: list[str]) -> None:
        """Replace lost bells, so that these topic queues have one per message."""
        with self.client.pipeline(transaction=False) as pipe:
            for queue in queues:
                self._ring(keys=[queue, queue + BODIES], args=[self.limits.request_ttl], client=pipe)
            pipe.execute()

    def close(self) -> None:
        self.client.connection_pool.disconnect()


def _pool(address: RedisAddress, limits: BusLimits) -> redis.BlockingConnectionPool:
    """Return a blocking pool: bursts of senders wait for a connection."""
    options: dict[str, Any] = {"connection_class": redis.UnixDomainSocketConnection}
    if not address.socket:
        options = {"connection_class": redis.Connection, "socket_connect_timeout": limits.socket_timeout}
    return redis.BlockingConnectionPool(
        max_connections=limits.max_connections,
        timeout=limits.socket_timeout,
        socket_timeout=limits.socket_timeout,
        health_check_interval=max(1, int(limits.socket_timeout)),
        client_name=redis_keys.PREFIX,
        **options,
        **address.connection_arguments(),
    )
