# SPDX-License-Identifier: Apache-2.0
"""Listener of one RPC server on the embedded bus."""

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_messaging import exceptions

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers import redis_keys, wire
from rpcapi.messaging.drivers.errors import BusError, ClaimedElsewhere, MessageExpired, MessageTooLarge
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.private import Listener, RpcIncomingMessage, serialize_remote_exception

LOG = logging.getLogger(__name__)


class RecentIds:
    def __init__(self, max_keys: int = 1024) -> None:
        self._max_keys = max_keys
        self._lock = threading.Lock()
        self._keys: OrderedDict[str, None] = OrderedDict()

    def add_if_new(self, key: str) -> bool:
        with self._lock:
            if key in self._keys:
                return False
            self._keys[key] = None
            if len(self._keys) > self._max_keys:
                self._keys.popitem(last=False)
            return True


@dataclass(frozen=True)
class Delivery:
    """Request with its authenticated sender and delivery tag; a fan-out request has no tag."""

    request: wire.WireRequest
    sender: str
    tag: str | None = None


class BusIncoming(RpcIncomingMessage):
    """Request that an executor thread acknowledges, runs and answers."""

    def __init__(self, delivery: Delivery, outbox: Outbox, on_begin: Callable[[Delivery], None]) -> None:
        request = delivery.request
        # Overwrite any sender that the body claims.
        ctxt = {**request.ctxt, SENDER_KEY: delivery.sender} if isinstance(request.ctxt, dict) else request.ctxt
        super().__init__(ctxt, request.message, request.id)
        self.client_timeout = request.monitor
        self._delivery = delivery
        self._outbox = outbox
        self._on_begin = on_begin

    def acknowledge(self) -> None:
        """Acknowledge the message; raises an exception to skip it if it must not run here."""
        self._on_begin(self._delivery)

    def requeue(self) -> None:
        """Do nothing: only notification servers requeue."""

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Send the reply, or a failure if the reply cannot be serialized. Raises MessageTooLarge."""
        reply_to = self._reply_inbox()
        if reply_to is None:
            return
        text = serialize_remote_exception(failure) if failure else None
        try:
            self._send(reply_to, wire.WireReply(self.msg_id, reply, text))
        except (TypeError, ValueError) as error:
            LOG.error("Cannot send the reply to %s: %s", self.msg_id, error)
            self._send(reply_to, wire.WireReply(self.msg_id, failure=serialize_remote_exception(sys.exc_info())))

    def heartbeat(self) -> None:
        reply_to = self._reply_inbox()
        if reply_to is not None:
            heartbeat_reply = wire.WireReply(self.msg_id, ending=False)
            self._outbox.send(reply_to, heartbeat_reply, time.monotonic() + (self.client_timeout or 0))

    def _reply_inbox(self) -> str | None:
        reply_to = self._delivery.request.reply_to
        return reply_to and redis_keys.inbox(self._outbox.user, redis_keys.process(self._delivery.sender, reply_to))

    def _send(self, reply_to: str, reply: wire.WireReply) -> None:
        try:
            self._outbox.send(reply_to, reply, time.monotonic() + self._outbox.send_timeout)
        except MessageTooLarge:
            raise
        except (BusError, exceptions.MessageDeliveryFailure) as error:
            LOG.error("Lost the reply to %s, its caller will time out: %s", self.msg_id, error)


class BusListener(Listener):
    """Listener that stops receiving while `prefetch` requests have not started."""

    def __init__(
        self,
        listen_target: ListenTarget,
        outbox: Outbox,
        *,
        prefetch: int,
        on_change: Callable[[], None],
        on_stop: Callable[["BusListener"], None],
    ) -> None:
        super().__init__(1, None, prefetch)
        self.listen_target = listen_target
        self._outbox = outbox
        self._prefetch = prefetch
        self._on_change = on_change
        self._on_stop = on_stop
        self._lock = threading.Lock()
        self._unacknowledged: set[str] = set()
        self._serving = False
        self._full = False
        self._begun_ids = RecentIds()

    @property
    def open(self) -> bool:
        return self._serving and not self._full

    def unacknowledged_tags(self) -> list[str]:
        with self._lock:
            return list(self._unacknowledged)

    def start(self, on_incoming_callback: Callable[[list[Any]], None]) -> None:
        super().start(on_incoming_callback)
        self._serving = True
        self._on_change()

    def stop(self) -> None:
        """Stop receiving. On return no further request is offered, but offered requests may still start."""
        self._serving = False
        self._on_stop(self)
        super().stop()

    def cleanup(self) -> None:
        for tag in self.unacknowledged_tags():
            self._requeue(tag)

    def offer(self, delivery: Delivery) -> None:
        if delivery.tag is not None:
            with self._lock:
                self._unacknowledged.add(delivery.tag)
                self._full = len(self._unacknowledged) >= self._prefetch
        incoming = BusIncoming(delivery, self._outbox, self._begin)
        try:
            if not self._serving or self.on_incoming_callback is None:
                raise RuntimeError("the server has stopped")
            self.on_incoming_callback([incoming])
        except RuntimeError as error:  # the executor was shut down
            LOG.info("%s requeues message %s: %s", self.listen_target.label, delivery.request.id, error)
            if delivery.tag is not None:
                self._requeue(delivery.tag)

    def _begin(self, delivery: Delivery) -> None:
        request = delivery.request
        try:
            acknowledged = delivery.tag is None or self._outbox.acknowledge(delivery.tag)
        finally:
            self._release(delivery.tag)
        if not acknowledged:
            raise ClaimedElsewhere(f"Message {request.id} was given to another server of {self.listen_target.label}.")
        if request.expired():
            raise MessageExpired(f"Message {request.id} expired before {self.listen_target.label} began it.")
        if not self._begun_ids.add_if_new(request.id):
            raise ClaimedElsewhere(f"Message {request.id} was sent twice; {self.listen_target.label} already ran it.")

    def _requeue(self, tag: str) -> None:
        self._release(tag)
        try:
            self._outbox.channel.requeue(tag)
        except Exception:  # the visibility timeout requeues the message later
            LOG.warning("%s could not requeue a message; it will be redelivered", self.listen_target.label)

    def _release(self, tag: str | None) -> None:
        with self._lock:
            self._unacknowledged.discard(tag or "")
            # Reopen at half: each change interrupts the receiver's read.
            reopen = self._full and len(self._unacknowledged) <= self._prefetch // 2
            if reopen:
                self._full = False
        if reopen:
            self._on_change()
