# SPDX-License-Identifier: Apache-2.0
"""Receives messages: one thread and one blocking read per process, for any number of RPC servers."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from oslo_messaging import exceptions

from rpcapi.access import bus_users
from rpcapi.conf.bus_address import RedisAddress
from rpcapi.messaging.drivers import names, redis_channel, transport, wire
from rpcapi.messaging.drivers.backoff import Backoff
from rpcapi.messaging.drivers.errors import BusRefused, MessageForeign
from rpcapi.messaging.drivers.incoming import Delivery
from rpcapi.messaging.drivers.listener import BusListener
from rpcapi.messaging.drivers.outbox import Outbox

LOG = logging.getLogger(__name__)

# Seconds without a message after which the receiver checks whether a renewal is due.
POLL_SECONDS = 1.0


class Receiver:
    """Reads the process's inboxes, one for each user, and the queues of its listeners.

    Any thread may change the set of queues to read; the receiver's thread applies the change between two
    reads, and applies the whole set after every new connection.
    """

    def __init__(
        self,
        address: RedisAddress,
        limits: redis_channel.TransportLimits,
        backoff: Backoff,
        outbox: Outbox,
        *,
        reply_ttl: int,
        on_reply: Callable[[wire.WireReply, str], None],
    ) -> None:
        self.reply_to = wire.new_id()
        self._process = names.process(outbox.user, self.reply_to)
        self._own_inbox = names.inbox(outbox.user, self._process)
        self._inboxes = [names.inbox(user, self._process) for user in bus_users.NAMES]
        self._address = address
        self._limits = limits
        self._backoff = backoff
        self._outbox = outbox
        self._reply_ttl = reply_ttl
        self._on_reply = on_reply
        self._renew_interval = min(limits.visibility_timeout, reply_ttl) / 3
        self._next_renewal = 0.0
        self._condition = threading.Condition()
        self._listeners: list[BusListener] = []
        self._requested_version = 0
        self._applied_version = -1
        self._subscribed_queues: set[str] = set()
        self._topic_queues: dict[str, BusListener] = {}
        self._server_queues: dict[str, BusListener] = {}
        self._connection: Any = None
        self._channel: redis_channel.BusChannel | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread unless it runs; a process has none before its first call or listener."""
        with self._condition:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gantt-bus", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop receiving and close the connection."""
        self._stopping.set()
        if self._thread is not None:
            self.refresh_subscriptions()
            self._thread.join()

    def refresh_subscriptions(self) -> None:
        """Update the set of queues to read, interrupting the current read."""
        with self._condition:
            self._requested_version += 1
        try:
            self._outbox.wake(self._own_inbox, self._reply_ttl)
        except redis_channel.CONNECTION_ERRORS:
            LOG.debug("Bus unreachable; the receiver updates its queues after reconnecting")

    def add(self, listener: BusListener) -> None:
        """Start reading for this listener. Requests fanned out after the return will reach it.

        :raises BusRefused: when Redis answers, but denies access
        """
        with self._condition:
            self._listeners.append(listener)
        try:
            targets = [listener.listen_target]
            self._outbox.retry(lambda: self._outbox.join(targets, self._process, self._reply_ttl), time.monotonic())
        except exceptions.MessageDeliveryFailure:
            LOG.warning(
                "Bus unreachable at %s; %s listens after reconnecting", self._address, listener.listen_target.label
            )
        except BusRefused:
            with self._condition:
                self._listeners.remove(listener)
            raise
        self.start()

    def remove(self, listener: BusListener) -> None:
        """Stop reading for this listener; returns when no more messages can reach it."""
        with self._condition:
            self._listeners.remove(listener)
        self.refresh_subscriptions()
        with self._condition:
            requested_version = self._requested_version
            self._condition.wait_for(
                # Without a connection nothing is read.
                lambda: self._applied_version >= requested_version or self._channel is None,
                self._limits.socket_timeout * 2,
            )
            last_of_fanout = all(
                other.listen_target.fanout != listener.listen_target.fanout for other in self._listeners
            )
        # Not before: the thread may just be renewing the memberships of the listeners that it knew.
        if last_of_fanout:
            try:
                self._outbox.leave(listener.listen_target.fanout, self._process)
            except redis_channel.CONNECTION_ERRORS:
                LOG.debug(
                    "Bus unreachable; the fan-out membership of %s expires by itself", listener.listen_target.label
                )

    def queue_topics(self) -> dict[str, str]:
        """Return the queues of topics, which servers of this process may share with others, and the topic of each."""
        with self._condition:
            targets = [listener.listen_target for listener in self._listeners]
        return {queue: target.topic for target in targets for queue in target.topic_queues}

    def _run(self) -> None:
        pauses = self._backoff.pauses()
        while not self._stopping.is_set():
            try:
                self._run_once()
                pauses = self._backoff.pauses()
            except redis_channel.CONNECTION_ERRORS as error:
                pause = next(pauses)
                LOG.warning("Bus unreachable at %s (%s); retrying in %.1f s", self._address, error, pause)
                self._disconnect()
                self._stopping.wait(pause)
            except Exception:  # one bad message or response of Redis must not stop the receiver
                LOG.exception("The bus's receiver failed at %s; reconnecting", self._address)
                self._disconnect()
                self._stopping.wait(next(pauses))
        if self._connection is not None:
            self._connection.release()

    def _run_once(self) -> None:
        channel = self._channel or self._connect()
        if not channel.is_reading():
            self._apply_subscriptions(channel)
        if time.monotonic() >= self._next_renewal:
            self._renew(channel)
        try:
            self._connection.drain_events(timeout=POLL_SECONDS)
        except TimeoutError:
            LOG.debug("No message on the bus for %.0f s", POLL_SECONDS)

    def _connect(self) -> redis_channel.BusChannel:
        self._connection, channel = transport.connect(self._address, self._limits)
        self._subscribed_queues, self._server_queues = set(), {}
        self._applied_version, self._next_renewal = -1, 0.0
        self._channel = channel
        LOG.info("Receiving from the bus at %s", self._address)
        return channel

    def _disconnect(self) -> None:
        connection, channel = self._connection, self._channel
        self._connection = self._channel = None
        with self._condition:
            self._condition.notify_all()
        try:
            if channel is not None:
                channel.abandon()
            if connection is not None:
                connection.release()
        except redis_channel.CONNECTION_ERRORS:
            LOG.debug("The broken connection to the bus could not be closed")

    def _apply_subscriptions(self, channel: redis_channel.BusChannel) -> None:
        """Subscribe to exactly the queues of the inbox and of the open listeners."""
        with self._condition:
            requested_version = self._requested_version
            if self._applied_version == requested_version:
                return
            listeners = list(self._listeners)
        listeners = [listener for listener in listeners if listener.open]
        self._topic_queues = {
            queue: listener for listener in listeners for queue in listener.listen_target.topic_queues
        }
        newly_read = {queue: listener for listener in listeners for queue in listener.listen_target.server_queues}
        self._server_queues, newly_read = newly_read, dict(newly_read.items() - self._server_queues.items())
        queues = {*self._inboxes, *self._topic_queues}
        for queue in self._subscribed_queues - queues:
            channel.basic_cancel(queue)
        for queue in queues - self._subscribed_queues:
            channel.basic_consume(queue, no_ack=True, callback=self._receive, consumer_tag=queue)
        self._subscribed_queues, channel.server_queues = queues, self._server_queues
        with self._condition:
            self._applied_version = requested_version
            self._condition.notify_all()
        self._read_server_queues(channel, newly_read)

    def _read_server_queues(self, channel: redis_channel.BusChannel, queues: Mapping[str, BusListener]) -> None:
        """Receive what waits for servers without a bell in the inbox, as long as their listeners are open."""
        for queue in channel.nonempty(list(queues)):
            while queues[queue].open and channel.connection.deliver_body(queue, self._own_inbox):
                pass

    def _renew(self, channel: redis_channel.BusChannel) -> None:
        """Renew this process's messages and fan-out memberships, and requeue messages of dead receivers."""
        with self._condition:
            listeners = list(self._listeners)
        if listeners:
            targets = [listener.listen_target for listener in listeners]
            self._outbox.join(targets, self._process, self._reply_ttl)
        if tags := [tag for listener in listeners for tag in listener.unacknowledged_tags()]:
            channel.renew(tags)
        channel.restore_abandoned()
        channel.ring(sorted(self._topic_queues))
        self._read_server_queues(channel, self._server_queues)
        self._next_renewal = time.monotonic() + self._renew_interval

    def _receive(self, message: Any) -> None:
        """Hand a message over; raises MessageForeign for one that is then a dead letter."""
        queue = message.delivery_info["routing_key"]
        sender = names.sender_of(queue)
        body = wire.decode(message)
        is_request = isinstance(body, wire.WireRequest) and body.fanout is None
        if is_request == names.is_inbox(queue):
            raise MessageForeign("an inbox is for replies and fan-out requests, and a queue for other requests")
        if isinstance(body, wire.WireReply):
            self._on_reply(body, sender)
        elif body.fanout is not None:
            self._deliver_fanout(body, sender)
        else:
            self._deliver_request(queue, body, sender, message)

    def _deliver_fanout(self, request: wire.WireRequest, sender: str) -> None:
        with self._condition:
            listeners = [listener for listener in self._listeners if listener.listen_target.fanout == request.fanout]
        for listener in listeners:
            listener.offer(Delivery(request, sender))

    def _deliver_request(self, queue: str, request: wire.WireRequest, sender: str, message: Any) -> None:
        listener = self._topic_queues.get(queue) or self._server_queues.get(queue)
        if listener is None:
            self._outbox.requeue(message.delivery_tag)
        elif request.expired():
            LOG.info("Message %s to %s dropped: its deadline has passed", request.id, listener.listen_target.label)
            self._outbox.acknowledge(message.delivery_tag)
        else:
            listener.offer(Delivery(request, sender, message.delivery_tag))
            if not listener.open:
                with self._condition:
                    self._requested_version += 1
