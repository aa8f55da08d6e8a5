# SPDX-License-Identifier: Apache-2.0
"""Sending: one kombu channel per process, used by all its threads, tried again while Redis is away."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from oslo_messaging import exceptions
from redis import exceptions as redis_exceptions

from rpcapi.drivers import names, transport, wire
from rpcapi.drivers.address import Address
from rpcapi.drivers.backoff import Backoff
from rpcapi.drivers.errors import BusRefused

LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Outbox:
    """What a process writes to the bus: messages, acknowledgements, and its place in fan-outs.

    All methods may be called from any thread. Those that do not say that they retry raise one of
    `transport.AWAY`.
    """

    def __init__(self, address: Address, limits: transport.Limits, backoff: Backoff, max_message_bytes: int):
        self._address = address
        self._limits = limits
        self._backoff = backoff
        self._max_message_bytes = max_message_bytes
        self._lock = threading.Lock()
        self._connection: Any = None
        self._channel: transport.BusChannel | None = None

    def send(
        self, queue: str, body: wire.Request | wire.Reply, ttl: int, deadline: float, *, direct: bool = False
    ) -> None:
        """Append to a queue, trying again until `deadline` (of the monotonic clock). To an inbox it goes `direct`.

        A connection that breaks while a request is under way leaves open whether it arrived; its receipt
        tells before it is sent again. An answer may arrive twice, its reader takes the first.

        :raises MessageTooLarge, BusRefused: at once
        :raises oslo_messaging.MessageDeliveryFailure: when Redis stayed away until the deadline
        """
        text = wire.encode(body, self._max_message_bytes)
        receipt = names.receipt(queue, body.id) if isinstance(body, wire.Request) else None
        parcel = transport.Parcel(queue, text, wire.CONTENT_TYPE, ttl, direct, receipt)
        unanswered = False

        def attempt() -> None:
            nonlocal unanswered
            channel = self.channel()
            if unanswered and receipt is not None and channel.arrived(receipt):
                return
            unanswered = True
            channel.publish(parcel)

        self.retry(attempt, deadline)

    def retry(self, action: Callable[[], T], deadline: float) -> T:
        """Do something with Redis, trying again until `deadline` (of the monotonic clock).

        :raises BusRefused: when Redis answers with an error
        :raises oslo_messaging.MessageDeliveryFailure: when Redis stayed away
        """
        pauses = self._backoff.pauses()
        while True:
            try:
                return action()
            except redis_exceptions.AuthenticationError as error:
                raise BusRefused(f"The bus at {self._address} refused: {error}.") from error
            except transport.AWAY as error:
                pause = next(pauses)
                if time.monotonic() + pause >= deadline:
                    raise exceptions.MessageDeliveryFailure(
                        f"The bus does not answer at {self._address}: {error}. Nothing more is tried."
                    ) from error
                LOG.warning("The bus does not answer at %s (%s); trying again in %.1f s", self._address, error, pause)
                time.sleep(pause)
            except redis_exceptions.RedisError as error:
                raise BusRefused(f"The bus at {self._address} refused: {error}.") from error

    def channel(self) -> transport.BusChannel:
        """The channel to send on; made, and Redis pinged, when there is none yet."""
        with self._lock:
            if self._channel is None:
                self._connection, self._channel = transport.connect(self._address, self._limits)
            return self._channel

    def take(self, delivery_tag: str) -> bool:
        """Acknowledge a received message; False when it was given to somebody else meanwhile.

        Tried again for half a visibility timeout. Nobody can have been given the message by then, so finding
        it gone after an attempt without an answer means that this attempt had succeeded.

        :raises BusRefused, oslo_messaging.MessageDeliveryFailure: see `retry`
        """
        unanswered = False

        def attempt() -> bool:
            nonlocal unanswered
            try:
                return self.channel().take(delivery_tag) or unanswered
            except transport.AWAY:
                unanswered = True
                raise

        return self.retry(attempt, time.monotonic() + self._limits.visibility_timeout / 2)

    def requeue(self, delivery_tag: str) -> None:
        """Put a received message back, first in line."""
        self.channel().requeue(delivery_tag)

    def wake(self, inbox: str, ttl: int) -> None:
        """End the current read of this process's receiver."""
        text = wire.encode(wire.WAKE, self._max_message_bytes)
        self.channel().publish(transport.Parcel(inbox, text, wire.CONTENT_TYPE, ttl, direct=True))

    def join(self, fanouts: Iterable[str], inbox: str, ttl: int) -> None:
        """Say that this inbox takes part in these fan-outs for `ttl` more seconds; forget who was silent longer."""
        now = time.time()
        with self.channel().conn_or_acquire() as client, client.pipeline(transaction=False) as pipe:
            for fanout in fanouts:
                pipe.zadd(fanout, {inbox: now}).zremrangebyscore(fanout, "-inf", now - ttl).expire(fanout, ttl)
            pipe.execute()

    def leave(self, fanout: str, inbox: str) -> None:
        """Take no more part in a fan-out."""
        with self.channel().conn_or_acquire() as client:
            client.zrem(fanout, inbox)

    def members(self, fanout: str, ttl: int) -> list[str]:
        """The inboxes that said within the last `ttl` seconds that they take part."""
        with self.channel().conn_or_acquire() as client:
            members = client.zrangebyscore(fanout, time.time() - ttl, "+inf")
        return [member.decode() for member in members]

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        with self._lock:
            connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            connection.release()
