# SPDX-License-Identifier: Apache-2.0
"""A channel of kombu's Redis transport with atomic receipt: a receiver that dies loses no message.

kombu pops a message and then records it as received: a message popped for a connection that breaks in between is
lost. This transport uses two lists per queue. kombu pops from the first, which holds only wake-up tokens ("bells"),
and a script then moves the oldest body from the second list to the record of received messages. A lost bell is
replaced. Requests for one server have no list of bells: their bells, which name the queue, are in the inbox of the
server's process, so that a process with hundreds of servers blocks on a few lists. A reply or fan-out request (a
`direct` message) is stored in the inbox itself, instead of a bell.
"""

import logging
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic, time
from typing import Any

import redis
from kombu.transport import redis as kombu_redis
from kombu.utils.json import dumps
from redis.commands.core import Script

from rpcapi.access import bus_users
from rpcapi.conf.bus_address import RedisAddress
from rpcapi.conf.rpc import MAX_MESSAGE_BYTES
from rpcapi.messaging.drivers import dead_letters, errors, names, scripts
from rpcapi.messaging.drivers.names import BODIES

LOG = logging.getLogger(__name__)

BELL = 0  # in a topic's list of bells; in an inbox a bell is the queue's name
TAG_LENGTH = 36  # a redelivered body has the number of its redeliveries, a digit, after the tag
RECEIPT_SECONDS = 20
BATCH = 100  # entries that are read at once from an inbox with a backlog
# Redeliveries after a receiver was lost; the next loss makes the message a dead letter.
MAX_REDELIVERIES = 2
BACKLOG_SECONDS = 0.0002  # a read that returns sooner did not wait: its entry had arrived during the last delivery

# Errors of redis-py while Redis is unreachable or still loading: worth a retry.
CONNECTION_ERRORS = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.BusyLoadingError,
    OSError,
)


@dataclass(frozen=True)
class TransportLimits:
    """Limits of a connection: seconds, except the numbers of `connections`, of messages in a queue and of bytes."""

    socket_timeout: float
    visibility_timeout: int
    queue_ttl: int
    inbox_ttl: int
    connections: int
    queue_length: int
    message_bytes: int


@dataclass(frozen=True)
class OutgoingMessage:
    """A message to append to a queue; the queue expires `ttl` seconds after its last message.

    A message to an inbox is `direct`; for one to a server, `process_key` names the process that reads its queue. A
    queue of `max_length` messages accepts no more. With `receipt`, a key of that name exists for RECEIPT_SECONDS once
    the message arrived.
    """

    queue: str
    text: str
    content_type: str
    ttl: int
    max_length: int
    direct: bool = False
    process_key: str | None = None
    receipt: str | None = None


class BusChannel(kombu_redis.Channel):
    """A channel without priorities, bindings and base64, on which every list expires."""

    queue_ttl = 3600
    inbox_ttl = 60
    message_bytes = MAX_MESSAGE_BYTES
    address: RedisAddress
    server_queues: Container[str] = ()  # those whose bells are not ignored
    connection_class: Any
    _brpop_sent_at: Any = None
    from_transport_options: Any = (
        *kombu_redis.Channel.from_transport_options,
        *("address", "queue_ttl", "inbox_ttl", "message_bytes"),
    )

    @cached_property
    def user(self) -> str:
        """The bus user of this process."""
        return bus_users.user_of(self.address.username)

    @cached_property
    def received_key(self) -> str:
        """The key of the user's received messages."""
        return names.received(self.user)

    @cached_property
    def received_index_key(self) -> str:
        """The key of the user's received messages by time."""
        return names.received_index(self.user)

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        # kombu creates a new client for every operation, which costs a third of a millisecond, several
        # times a call. A redis-py client on a pool may be shared between threads, so one is enough.
        yield client or self._shared_client

    @cached_property
    def _shared_client(self) -> redis.Redis:
        client: redis.Redis = self._create_client()
        return client

    def publish(self, outgoing: OutgoingMessage) -> None:
        """Append to a queue; raises QueueFull or MessageTooLarge."""
        message = self.prepare_message(outgoing.text, content_type=outgoing.content_type, content_encoding="utf-8")
        self.basic_publish(message, exchange="", routing_key=outgoing.queue, outgoing=outgoing)

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        outgoing: OutgoingMessage = kwargs["outgoing"]
        body = dumps(message)
        queue_key = queue if outgoing.direct else queue + BODIES
        entry = (body if outgoing.direct else message["properties"]["delivery_tag"] + body).encode()
        if len(entry) > self.message_bytes:
            raise errors.MessageTooLarge(len(entry), self.message_bytes)
        args = [queue_key, outgoing.max_length, outgoing.ttl, entry, outgoing.receipt or "", RECEIPT_SECONDS]
        if not self._send(args=[*args, *self._bell(queue, outgoing)]):
            raise errors.QueueFull(queue, outgoing.max_length)

    def _bell(self, queue: str, outgoing: OutgoingMessage) -> tuple[str | int, ...]:
        """Return the last arguments of the script `send`."""
        if outgoing.direct:
            return ("", BELL, outgoing.ttl, "")
        if outgoing.process_key is None:
            return (queue, BELL, outgoing.ttl, "")
        return (names.inbox(names.sender_of(queue), ""), dumps(queue), self.inbox_ttl, outgoing.process_key)

    def has_arrived(self, receipt: str) -> bool:
        """Return whether a message with this receipt has arrived."""
        with self.conn_or_acquire() as client:
            return bool(client.exists(receipt))

    def claim(self, queue: str) -> tuple[str, bytes] | None:
        """Receive the oldest message of a queue: its delivery tag and its text; None when the queue is empty.

        A message larger than allowed becomes a dead letter instead.
        """
        keys = [queue + BODIES, self.received_key, self.received_index_key]
        # The digit of a redelivered body does not count.
        args: list[Any] = [TAG_LENGTH, time(), queue, self.message_bytes + 1, dead_letters.MAX_TEXT]
        while isinstance(body := self._claim(keys=keys, args=args), list):
            self.bury_large(queue, *body)
        if not body:
            return None
        tag, text = body[:TAG_LENGTH].decode(errors="replace"), body[TAG_LENGTH:]
        return tag, text[1:] if text[:1].isdigit() else text

    def message_to_python(self, raw_message: Any) -> Any:
        """Return a received message. No peer compresses; a small compressed body may be a huge one.

        :raises TypeError, KeyError, AttributeError, ValueError: for what is no message
        """
        raw_message["headers"].pop("compression", None)
        return super().message_to_python(raw_message)

    def bury(self, queue: str, body: bytes, error: Exception, size: int | None = None) -> None:
        """Add a message to the dead letters; with a ``size``, ``body`` is the beginning of the message."""
        letter = dead_letters.describe(queue, body, f"{type(error).__name__}: {error}", size)
        with self.conn_or_acquire() as client:
            dead_letters.write(client, self.user, letter)
        LOG.warning("A message of %s is a dead letter: %s", queue, letter.reason)

    def bury_large(self, queue: str, beginning: bytes, size: int) -> None:
        """Add a message that is larger than allowed to the dead letters."""
        self.bury(queue, beginning, errors.MessageTooLarge(size, self.message_bytes), size)

    def acknowledge(self, delivery_tag: str | bytes) -> bool:
        """Acknowledge a message; return False when another server received it meanwhile."""
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            _, removed = (
                pipe.zrem(self.received_index_key, delivery_tag).hdel(self.received_key, delivery_tag).execute()
            )
        return bool(removed)

    def renew(self, delivery_tags: list[str]) -> None:
        """Renew received messages for another visibility timeout."""
        with self.conn_or_acquire() as client:
            client.zadd(self.received_index_key, dict.fromkeys(delivery_tags, time()), xx=True)

    def requeue(self, delivery_tag: str) -> None:
        """Return a received message to the front of its queue."""
        self._restore_received("", delivery_tag)

    def restore_abandoned(self) -> None:
        """Requeue messages that were not renewed for a visibility timeout, at most 100 at a time.

        After MAX_REDELIVERIES redeliveries a message becomes a dead letter instead.
        """
        self._restore_received(time() - self.visibility_timeout, "")

    def _restore_received(self, until: float | str, tag: str) -> None:
        keys = [self.received_key, self.received_index_key]
        args: list[Any] = [until, tag, 100, self.queue_ttl, BODIES, names.SERVER_QUEUES]
        args += [TAG_LENGTH, MAX_REDELIVERIES, dead_letters.MAX_TEXT]
        for queue, beginning, size in self._restore_script(keys=keys, args=args):
            self.bury(queue.decode(errors="replace"), beginning, errors.ReceiversLost(MAX_REDELIVERIES + 1), size)

    def nonempty(self, queues: list[str]) -> list[str]:
        """Return those of the queues that have a body."""
        return [queue for queue, length in zip(queues, self.lengths(queues), strict=True) if length]

    def lengths(self, queues: Sequence[str]) -> list[int]:
        """Return how many bodies each queue has."""
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for queue in queues:
                pipe.llen(queue + BODIES)
            lengths: list[int] = pipe.execute()
        return lengths

    def ring(self, queues: list[str]) -> None:
        """Ensure that these queues of topics have a bell for each body."""
        with self.conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for queue in queues:
                self._ring(keys=[queue, queue + BODIES], args=[self.queue_ttl], client=pipe)
            pipe.execute()

    @cached_property
    def _send(self) -> Script:
        return self._shared_client.register_script(scripts.text("send"))

    @cached_property
    def _claim(self) -> Script:
        return self._shared_client.register_script(scripts.text("claim"))

    @cached_property
    def _take(self) -> Script:
        return self._shared_client.register_script(scripts.text("take"))

    @cached_property
    def _restore_script(self) -> Script:
        return self._shared_client.register_script(scripts.text("restore"))

    @cached_property
    def _ring(self) -> Script:
        return self._shared_client.register_script(scripts.text("ring"))

    def _brpop_start(self, timeout: float | None = None) -> None:
        # As in kombu, without its per-queue work for priorities and prefixes: there may be hundreds of queues.
        queues = self._queue_cycle.consume(len(self._active_queues))
        if queues:
            self._in_poll = self.client.connection
            self._brpop_sent_at = monotonic()
            self.client.connection.send_command("BRPOP", *queues, timeout or self.brpop_timeout)

    def has_backlog(self) -> bool:
        """Return whether the current read returned at once, so that more entries probably wait."""
        return self._brpop_sent_at is not None and monotonic() - self._brpop_sent_at < BACKLOG_SECONDS

    def take(self, inbox: str) -> list[bytes]:
        """Remove and return the oldest entries of an inbox; an entry larger than allowed becomes a dead letter."""
        entries = self._take(keys=[inbox], args=[BATCH, self.message_bytes, dead_letters.MAX_TEXT])
        for entry in entries:
            if isinstance(entry, list):
                self.bury_large(inbox, *entry)
        return [entry for entry in entries if not isinstance(entry, list)]

    def _create_client(self, asynchronous: bool = False) -> Any:
        client = super()._create_client(asynchronous)
        client.set_response_callback("BRPOP", self._check_entry)
        return client

    def _check_entry(self, response: Any, **_options: Any) -> Any:
        """Return the response of a blocking read; None, as after a timeout, for an entry larger than allowed.

        kombu decodes an entry before it delivers it.
        """
        if response and len(response[1]) > self.message_bytes:
            inbox, entry = response
            self.bury_large(inbox.decode(errors="replace"), entry[: dead_letters.MAX_TEXT], len(entry))
            return None
        return response

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except (ValueError, RecursionError) as error:  # from kombu, which decodes what it reads before it delivers it
            self.bury("an inbox", str(getattr(error, "doc", "")).encode(errors="replace"), error)
            return True

    @property
    def active_queues(self) -> list[str]:
        """Return the queues that are read."""
        return list(self._active_queues)

    def is_reading(self) -> bool:
        """Return whether a blocking read of the queues is in progress."""
        return bool(self._in_poll)

    def abandon(self) -> None:
        """Close without waiting for a read that will not end."""
        self._in_poll = False
        self.close()

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        # kombu would carry the address through a URL; passing it as arguments avoids quoting errors.
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
