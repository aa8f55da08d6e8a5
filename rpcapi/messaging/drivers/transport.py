# SPDX-License-Identifier: Apache-2.0
"""kombu's Redis transport, which fetches the message of each bell."""

from typing import Any

import redis
from kombu import Connection
from kombu.transport import redis as kombu_redis
from kombu.utils.json import dumps, loads
from oslo_messaging import exceptions

from rpcapi.conf.bus_address import RedisAddress
from rpcapi.messaging.drivers import errors, names
from rpcapi.messaging.drivers.names import PREFIX
from rpcapi.messaging.drivers.redis_channel import BELL, CONNECTION_ERRORS, BusChannel, TransportLimits


class BusTransport(kombu_redis.Transport):
    """The transport of BusChannel; fetches the message of each received bell."""

    Channel = BusChannel

    def _deliver(self, message: Any, queue: str) -> None:
        """Deliver a message, or that of a bell; of an inbox with a backlog the next ones, too."""
        if not self.channels:
            # The transport closes, and its last read returned after all. A message whose bell this was is found by the
            # next renewal of another process; anything else was for this one.
            return
        channel = self.channels[0]
        more = names.is_inbox(queue) and channel.has_backlog()
        self._deliver_one(message, queue)
        failure = None
        for text in channel.take(queue) if more else ():
            try:
                self._deliver_one(loads(text), queue)
            except (ValueError, RecursionError) as error:
                channel.bury(queue, text, error)
            except CONNECTION_ERRORS as error:  # of a bell; the others have left the inbox and would be lost
                failure = error
        if failure is not None:
            raise failure

    def _deliver_one(self, message: Any, queue: str) -> None:
        if message == BELL:
            self.deliver_body(queue, queue)
        elif not isinstance(message, str):
            self._deliver_entry(message, queue, queue, None, None)
        elif message in self.channels[0].server_queues:
            self.deliver_body(message, queue)

    def deliver_body(self, source: str, queue: str) -> bool:
        """Deliver the oldest body of the queue `source` to the consumer of `queue`; return whether there was one."""
        claim = self.channels[0].claim(source)
        if claim is not None:
            self._deliver_entry(None, source, queue, *claim)
        return claim is not None

    def _deliver_entry(self, message: Any, source: str, queue: str, tag: str | None, body: bytes | None) -> None:
        """Deliver a message, or a body; one that cannot be processed would fail at each delivery."""
        channel = self.channels[0]
        try:
            if body is not None:
                message = loads(body)
            _check_envelope(message, source, tag)
            super()._deliver(message, queue)
        except Exception as error:
            if _concerns_the_bus(error):
                raise
            channel.bury(source, dumps(message).encode() if body is None else body, error)
            if tag is not None:
                channel.acknowledge(tag)

    def _reject_inbound_message(self, raw_message: dict[str, Any]) -> None:
        # The listener of this message stopped after the read began.
        self.channels[0].requeue(raw_message["properties"]["delivery_tag"])


def _concerns_the_bus(error: Exception) -> bool:
    """Return whether the bus has failed, not the message."""
    failures = (*CONNECTION_ERRORS, redis.RedisError, exceptions.MessagingException)
    return isinstance(error, failures) and not isinstance(error, errors.MessageForeign)


def _check_envelope(message: Any, queue: str, tag: str | None) -> None:
    """Raise MessageForeign unless kombu's envelope has the queue and the delivery tag that the message came with."""
    properties: Any = message.get("properties") if isinstance(message, dict) else None
    delivery_info = properties.get("delivery_info") if isinstance(properties, dict) else None
    if not isinstance(delivery_info, dict) or delivery_info.get("routing_key") != queue:
        raise errors.MessageForeign("it is not in an envelope of kombu for this queue")
    if not isinstance(message.get("body"), str) or tag not in (None, properties.get("delivery_tag")):
        raise errors.MessageForeign("its envelope has no text, or another delivery tag than the message")


def connect(address: RedisAddress, limits: TransportLimits) -> tuple[Connection, BusChannel]:
    """Return a connection to the bus and a channel on it, after Redis has answered once.

    :raises CONNECTION_ERRORS: when Redis cannot be reached; there is one attempt
    """
    connection = Connection(
        transport=BusTransport,
        transport_options={
            "address": address,
            "queue_ttl": limits.queue_ttl,
            "inbox_ttl": limits.inbox_ttl,
            "message_bytes": limits.message_bytes,
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
    # Retries are up to the caller; kombu itself would sleep for two seconds.
    connection.ensure_connection(max_retries=0, reraise_as_library_errors=False)
    return connection, connection.channel()
