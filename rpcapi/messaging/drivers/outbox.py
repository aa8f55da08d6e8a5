# SPDX-License-Identifier: Apache-2.0
"""Sends messages: one kombu channel per process, shared by its threads, with retries while Redis is unreachable."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from oslo_messaging import exceptions
from redis import exceptions as redis_exceptions

from rpcapi.access import bus_users
from rpcapi.conf.bus_address import RedisAddress
from rpcapi.messaging.drivers import dead_letters, names, redis_channel, transport, wire
from rpcapi.messaging.drivers.backoff import Backoff
from rpcapi.messaging.drivers.errors import BusRefused
from rpcapi.messaging.drivers.listen_target import ListenTarget

LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Outbox:
    """All writes of a process to the bus: messages, acknowledgements, and memberships in fan-outs.

    All methods may be called from any thread. Methods that do not retry raise one of
    `redis_channel.CONNECTION_ERRORS`.
    """

    def __init__(self, address: RedisAddress, limits: redis_channel.TransportLimits, backoff: Backoff) -> None:
        self.user = bus_users.user_of(address.username)
        self._address = address
        self._limits = limits
        self._backoff = backoff
        self._lock = threading.Lock()
        self._connection: Any = None
        self._channel: redis_channel.BusChannel | None = None

    def send(
        self,
        queue: str,
        body: wire.WireRequest | wire.WireReply,
        ttl: int,
        deadline: float,
        *,
        direct: bool = False,
        process_key: str | None = None,
    ) -> None:
        """Append to a queue, with retries until `deadline` (monotonic clock).

        Messages to an inbox are `direct`; those to a server have the `process_key` of the server.

        When a connection breaks during a send, the outcome is unknown: the receipt of a request is checked
        before it is sent again. A reply may arrive twice; its reader uses the first.

        :raises MessageTooLarge, QueueFull, BusRefused: at once
        :raises oslo_messaging.MessageDeliveryFailure: when Redis stayed unreachable until the deadline
        """
        text = wire.encode(body)
        receipt = names.receipt(queue, body.id) if isinstance(body, wire.WireRequest) else None
        outgoing = self._outgoing(queue, text, ttl, direct=direct, process_key=process_key, receipt=receipt)
        outcome_unknown = False

        def attempt() -> None:
            nonlocal outcome_unknown
            channel = self.channel()
            if outcome_unknown and receipt is not None and channel.has_arrived(receipt):
                return
            outcome_unknown = True
            channel.publish(outgoing)

        self.retry(attempt, deadline)

    def retry(self, action: Callable[[], T], deadline: float) -> T:
        """Run `action` on Redis, with retries until `deadline` (monotonic clock).

        :raises BusRefused: when Redis answers with an error
        :raises oslo_messaging.MessageDeliveryFailure: when Redis stayed unreachable
        """
        pauses = self._backoff.pauses()
        while True:
            try:
                return action()
            except redis_exceptions.AuthenticationError as error:
                raise BusRefused(f"The bus at {self._address} rejected the command: {error}.") from error
            except redis_channel.CONNECTION_ERRORS as error:
                pause = next(pauses)
                if time.monotonic() + pause >= deadline:
                    raise exceptions.MessageDeliveryFailure(
                        f"The bus does not answer at {self._address}: {error}. Retries are exhausted."
                    ) from error
                LOG.warning("The bus does not answer at %s (%s); retrying in %.1f s", self._address, error, pause)
                time.sleep(pause)
            except redis_exceptions.RedisError as error:
                raise BusRefused(f"The bus at {self._address} rejected the command: {error}.") from error

    def channel(self) -> redis_channel.BusChannel:
        """Return the channel to send on; connects and pings Redis when there is none yet."""
        with self._lock:
            if self._channel is None:
                self._connection, self._channel = transport.connect(self._address, self._limits)
            return self._channel

    def acknowledge(self, delivery_tag: str) -> bool:
        """Acknowledge a received message; return False when another server received it meanwhile.

        Retries for half a visibility timeout. No other server can have received the message by then, so a message
        that is missing after an attempt without a response means that this attempt had succeeded.

        :raises BusRefused, oslo_messaging.MessageDeliveryFailure: see `retry`
        """
        outcome_unknown = False

        def attempt() -> bool:
            nonlocal outcome_unknown
            try:
                return self.channel().acknowledge(delivery_tag) or outcome_unknown
            except redis_channel.CONNECTION_ERRORS:
                outcome_unknown = True
                raise

        return self.retry(attempt, time.monotonic() + self._limits.visibility_timeout / 2)

    def _outgoing(self, queue: str, text: str, ttl: int, **values: Any) -> redis_channel.OutgoingMessage:
        return redis_channel.OutgoingMessage(queue, text, wire.CONTENT_TYPE, ttl, self._limits.queue_length, **values)

    def requeue(self, delivery_tag: str) -> None:
        """Return a received message to the front of its queue."""
        self.channel().requeue(delivery_tag)

    def wake(self, inbox: str, ttl: int) -> None:
        """Interrupt the current read of this process's receiver."""
        text = wire.encode(wire.WAKE)
        self.channel().publish(self._outgoing(inbox, text, ttl, direct=True))

    def join(self, targets: Iterable[ListenTarget], process: str, ttl: int) -> None:
        """Register this process for these servers and their fan-outs for `ttl` seconds.

        Members of the fan-outs that did not renew for as long are removed.
        """
        now = time.time()
        targets = list(targets)
        with self.channel().conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for fanout in {target.fanout for target in targets}:
                pipe.zadd(fanout, {process: now}).zremrangebyscore(fanout, "-inf", now - ttl).expire(fanout, ttl)
            for target in targets:
                pipe.set(target.process_key, process, ex=ttl)
            pipe.execute()

    def leave(self, fanout: str, process: str) -> None:
        """Remove a process from a fan-out."""
        with self.channel().conn_or_acquire() as client:
            client.zrem(fanout, process)

    def members(self, fanout: str, ttl: int) -> list[str]:
        """Return the processes registered in a fan-out within the last `ttl` seconds."""
        with self.channel().conn_or_acquire() as client:
            members = client.zrangebyscore(fanout, time.time() - ttl, "+inf")
        return [member.decode() for member in members]

    def dead_letters(self) -> list[dead_letters.DeadLetter]:
        """Return the dead letters that this user may read, newest first."""
        users = bus_users.NAMES if self.user in bus_users.READERS_OF_DEAD_LETTERS else (self.user,)
        with self.channel().conn_or_acquire() as client:
            return dead_letters.read(client, users)

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        with self._lock:
            connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            connection.release()
