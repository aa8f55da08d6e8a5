# SPDX-License-Identifier: Apache-2.0
"""Receiver of messages: one thread and one blocking read per process, for any number of RPC servers."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

import redis
from oslo_messaging import exceptions

from rpcapi.access import broker_users
from rpcapi.background import BackgroundLoop
from rpcapi.messaging.drivers import redis_keys, wire
from rpcapi.messaging.drivers.errors import BusRefused, MessageForeign
from rpcapi.messaging.drivers.listener import BusListener, Delivery
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.drivers.redis_channel import CONNECTION_ERRORS, BusChannel

LOG = logging.getLogger(__name__)


class Receiver(BackgroundLoop):
    """Reader of a process's inboxes, one per sending user, and of its listeners' queues."""

    def __init__(self, channel: BusChannel, outbox: Outbox, on_reply: Callable[[wire.WireReply, str], None]) -> None:
        """``channel`` must not be the outbox's: senders may use up all its connections."""
        super().__init__("gantt-bus")
        self.reply_to = wire.new_id()
        self._process = redis_keys.process(outbox.user, self.reply_to)
        self._own_inbox = redis_keys.inbox(outbox.user, self._process)
        self._inboxes = [redis_keys.inbox(user, self._process) for user in broker_users.BUS_USERS]
        self._channel = channel
        self._outbox = outbox
        self._on_reply = on_reply
        self._renew_interval = min(channel.limits.visibility_timeout, channel.limits.reply_ttl) / 3
        self._next_renewal = 0.0
        self._condition = threading.Condition()
        self._listeners: list[BusListener] = []
        self._requested_version = 0
        self._applied_version = -1
        self._queues: list[str] = []  # inboxes and lists of bells, least recently read first
        self._topic_queues: dict[str, BusListener] = {}
        self._server_queues: dict[str, BusListener] = {}
        self._is_connected = False
        self._pauses = channel.limits.pauses()

    def start(self) -> None:
        with self._condition:
            if self._thread.ident is None:
                super().start()

    def stop(self) -> None:
        super().stop()
        if self._thread.ident is not None:
            self.refresh_subscriptions()
            self.wait()

    def refresh_subscriptions(self) -> None:
        """Interrupt the current read, so that the thread applies the current set of queues."""
        with self._condition:
            self._requested_version += 1
        try:
            self._outbox.wake(self._own_inbox)
        except CONNECTION_ERRORS:
            LOG.debug("Bus unreachable; updating queues after reconnecting")

    def add(self, listener: BusListener) -> None:
        with self._condition:
            self._listeners.append(listener)
        try:
            targets = [listener.listen_target]
            self._outbox.retry(lambda: self._outbox.join(targets, self._process), time.monotonic())
        except exceptions.MessageDeliveryFailure:
            LOG.warning(
                "Bus unreachable at %s; %s listens after reconnecting",
                self._channel.address,
                listener.listen_target.label,
            )
        except BusRefused:
            with self._condition:
                self._listeners.remove(listener)
            raise
        self.start()

    def remove(self, listener: BusListener) -> None:
        """Stop reading for a listener. On return it receives no further message."""
        with self._condition:
            self._listeners.remove(listener)
        self.refresh_subscriptions()
        with self._condition:
            requested_version = self._requested_version
            self._condition.wait_for(
                lambda: self._applied_version >= requested_version or not self._is_connected,
                self._channel.limits.socket_timeout * 2,
            )
            last_of_fanout = all(
                other.listen_target.fanout != listener.listen_target.fanout for other in self._listeners
            )
        # Not earlier, because the receiver's thread could have renewed the membership.
        if last_of_fanout:
            try:
                self._outbox.channel.client.zrem(listener.listen_target.fanout, self._process)
            except CONNECTION_ERRORS:
                LOG.debug(
                    "Bus unreachable; the fan-out membership of %s expires by itself", listener.listen_target.label
                )

    def queue_topics(self) -> dict[str, str]:
        with self._condition:
            targets = [listener.listen_target for listener in self._listeners]
        return {queue: target.topic for target in targets for queue in target.topic_queues}

    def run_once(self) -> float:
        if not self._is_connected:
            self._connect()
        self._apply_subscriptions()
        if time.monotonic() >= self._next_renewal:
            self._renew()
        arrival = self._channel.read(self._queues)
        if arrival is not None:
            self._deliver(*arrival)
        self._pauses = self._channel.limits.pauses()
        return 0.0

    def handle_failure(self, error: Exception) -> float:
        """Disconnect after any error; return the seconds until the reconnect."""
        pause = next(self._pauses)
        if isinstance(error, CONNECTION_ERRORS):
            LOG.warning("Bus unreachable at %s (%s); retrying in %.1f s", self._channel.address, error, pause)
        else:
            LOG.error("The bus's receiver failed at %s; reconnecting", self._channel.address, exc_info=error)
        self._disconnect()
        return pause

    def finish(self) -> None:
        self._channel.close()

    def _connect(self) -> None:
        self._channel.client.ping()
        self._server_queues, self._applied_version, self._next_renewal = {}, -1, 0.0
        self._is_connected = True
        LOG.info("Receiving from the bus at %s", self._channel.address)

    def _disconnect(self) -> None:
        self._channel.close()
        with self._condition:
            self._is_connected = False
            self._condition.notify_all()

    def _apply_subscriptions(self) -> None:
        with self._condition:
            requested_version = self._requested_version
            if self._applied_version == requested_version:
                return
            listeners = [listener for listener in self._listeners if listener.open]
        self._topic_queues = {
            queue: listener for listener in listeners for queue in listener.listen_target.topic_queues
        }
        server_queues = {queue: listener for listener in listeners for queue in listener.listen_target.server_queues}
        newly_read = dict(server_queues.items() - self._server_queues.items())
        self._queues, self._server_queues = [*self._inboxes, *self._topic_queues], server_queues
        with self._condition:
            self._applied_version = requested_version
            self._condition.notify_all()
        self._read_server_queues(newly_read)

    def _read_server_queues(self, queues: Mapping[str, BusListener]) -> None:
        """Read the waiting messages of servers whose bells were lost, while their listeners are open."""
        for queue in self._channel.nonempty(list(queues)):
            while queues[queue].open and self._receive_body(queue, queues[queue]):
                pass

    def _renew(self) -> None:
        with self._condition:
            listeners = list(self._listeners)
        if listeners:
            targets = [listener.listen_target for listener in listeners]
            self._outbox.join(targets, self._process)
        if tags := [tag for listener in listeners for tag in listener.unacknowledged_tags()]:
            self._channel.renew(tags)
        self._channel.restore_abandoned()
        self._channel.ring(sorted(self._topic_queues))
        self._read_server_queues(self._server_queues)
        self._next_renewal = time.monotonic() + self._renew_interval

    def _deliver(self, queue: str, entry: bytes, has_backlog: bool) -> None:
        self._queues.remove(queue)
        self._queues.append(queue)
        if queue in self._topic_queues:
            self._receive_body(queue, self._topic_queues[queue])
            return
        self._deliver_entries(queue, [entry])
        if has_backlog:
            self._deliver_entries(queue, self._channel.take(queue))

    def _deliver_entries(self, inbox: str, entries: Iterable[bytes]) -> None:
        failure = None
        for entry in entries:
            source = entry.decode(errors="replace")
            try:
                if not source.startswith(redis_keys.SERVER_QUEUES):
                    self._receive(inbox, entry)
                elif source in self._server_queues:
                    self._receive_body(source, self._server_queues[source])
            # Continue: the remaining entries have left the inbox and would be lost.
            except CONNECTION_ERRORS as error:
                failure = error
        if failure is not None:
            raise failure

    def _receive_body(self, queue: str, listener: BusListener) -> bool:
        claim = self._channel.claim(queue)
        if claim is not None:
            tag, text = claim
            self._receive(queue, text, tag, listener)
        return claim is not None

    def _receive(self, queue: str, text: bytes, tag: str | None = None, listener: BusListener | None = None) -> None:
        """Deliver a message, or make it a dead letter if every delivery would fail."""
        try:
            self._hand_over(redis_keys.sender_of(queue), wire.decode(text), tag, listener)
        except Exception as error:
            if _concerns_the_bus(error):
                raise
            self._channel.bury(queue, text, error)
            if tag is not None:
                self._channel.acknowledge(tag)

    def _hand_over(
        self, sender: str, body: wire.WireRequest | wire.WireReply, tag: str | None, listener: BusListener | None
    ) -> None:
        is_request = isinstance(body, wire.WireRequest) and body.fanout is None
        if is_request == (listener is None):
            raise MessageForeign("inboxes take replies and fan-out requests, queues take other requests")
        if isinstance(body, wire.WireReply):
            self._on_reply(body, sender)
        elif listener is None:
            self._deliver_fanout(body, sender)
        elif body.expired():
            LOG.info("Message %s to %s dropped: its deadline has passed", body.id, listener.listen_target.label)
            self._outbox.acknowledge(str(tag))
        else:
            listener.offer(Delivery(body, sender, tag))
            if not listener.open:
                with self._condition:
                    self._requested_version += 1

    def _deliver_fanout(self, request: wire.WireRequest, sender: str) -> None:
        with self._condition:
            listeners = [listener for listener in self._listeners if listener.listen_target.fanout == request.fanout]
        for listener in listeners:
            listener.offer(Delivery(request, sender))


def _concerns_the_bus(error: Exception) -> bool:
    failures = (*CONNECTION_ERRORS, redis.RedisError, exceptions.MessagingException)
    return isinstance(error, failures) and not isinstance(error, MessageForeign)
