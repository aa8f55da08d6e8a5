# SPDX-License-Identifier: Apache-2.0
"""Writer to the embedded bus, with retries while Redis is unreachable."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import redis
from oslo_messaging import exceptions

from rpcapi.access import broker_users
from rpcapi.messaging.drivers import dead_letters, redis_keys, wire
from rpcapi.messaging.drivers.errors import BusRefused
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.redis_channel import CONNECTION_ERRORS, BusChannel

LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Outbox:
    """Thread-safe writer of a process's messages. Methods without retries raise one of CONNECTION_ERRORS."""

    def __init__(self, channel: BusChannel) -> None:
        self.channel = channel
        self.user = channel.user
        self.send_timeout = channel.limits.send_timeout

    def send(
        self, queue: str, body: wire.WireRequest | wire.WireReply, deadline: float, process_key: str | None = None
    ) -> None:
        """Append to a queue, with retries until `deadline` (monotonic clock).

        After a broken connection a request is sent again only without its receipt; of duplicate replies the caller
        reads the first. MessageTooLarge, QueueFull and BusRefused are raised at once, MessageDeliveryFailure at the
        deadline.
        """
        text = wire.encode(body)
        receipt = redis_keys.receipt(queue, body.id) if isinstance(body, wire.WireRequest) else None
        outcome_unknown = False

        def attempt() -> None:
            nonlocal outcome_unknown
            if outcome_unknown and receipt is not None and self.channel.has_arrived(receipt):
                return
            outcome_unknown = True
            self.channel.publish(queue, text, process_key, receipt)

        self.retry(attempt, deadline)

    def retry(self, action: Callable[[], T], deadline: float) -> T:
        """Run `action` until `deadline` (monotonic clock); raises BusRefused or MessageDeliveryFailure."""
        address, pauses = self.channel.address, self.channel.limits.pauses()
        while True:
            try:
                return action()
            except (redis.RedisError, OSError) as error:
                if isinstance(error, redis.AuthenticationError) or not isinstance(error, CONNECTION_ERRORS):
                    raise BusRefused(f"The bus at {address} rejected the command: {error}.") from error
                pause = next(pauses)
                if time.monotonic() + pause >= deadline:
                    raise exceptions.MessageDeliveryFailure(
                        f"The bus does not answer at {address}: {error}. Retries are exhausted."
                    ) from error
                LOG.warning("The bus does not answer at %s (%s); retrying in %.1f s", address, error, pause)
                time.sleep(pause)

    def acknowledge(self, delivery_tag: str) -> bool:
        """Acknowledge a received message; return False if another server has received it.

        Retries end after half a visibility timeout. Until then no other server can receive the message, so if it is
        missing after a lost response, it was acknowledged.
        """
        outcome_unknown = False

        def attempt() -> bool:
            nonlocal outcome_unknown
            try:
                return self.channel.acknowledge(delivery_tag) or outcome_unknown
            except CONNECTION_ERRORS:
                outcome_unknown = True
                raise

        return self.retry(attempt, time.monotonic() + self.channel.limits.visibility_timeout / 2)

    def wake(self, inbox: str) -> None:
        self.channel.publish(inbox, wire.encode(wire.WAKE))

    def join(self, targets: Iterable[ListenTarget], process: str) -> None:
        """Register this process as reader of servers and fan-outs; remove members that did not renew in time."""
        now, ttl = time.time(), self.channel.limits.reply_ttl
        targets = list(targets)
        with self.channel.client.pipeline(transaction=False) as pipe:
            for fanout in {target.fanout for target in targets}:
                pipe.zadd(fanout, {process: now}).zremrangebyscore(fanout, "-inf", now - ttl).expire(fanout, ttl)
            for target in targets:
                pipe.set(target.process_key, process, ex=ttl)
            pipe.execute()

    def members(self, fanout: str) -> list[str]:
        members = self.channel.client.zrangebyscore(fanout, time.time() - self.channel.limits.reply_ttl, "+inf")
        return [member.decode() for member in members]

    def dead_letters(self) -> list[dead_letters.DeadLetter]:
        users = broker_users.BUS_USERS if self.user in broker_users.READERS_OF_DEAD_LETTERS else (self.user,)
        return dead_letters.read(self.channel.client, users)
