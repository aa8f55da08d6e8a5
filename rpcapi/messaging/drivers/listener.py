# SPDX-License-Identifier: Apache-2.0
"""Listener of one RPC server: offers requests and tracks those not yet started."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from rpcapi.messaging.drivers.duplicates import RecentIds
from rpcapi.messaging.drivers.errors import ClaimedElsewhere, MessageExpired
from rpcapi.messaging.drivers.incoming import BusIncoming, Delivery
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.private import Listener

LOG = logging.getLogger(__name__)


class BusListener(Listener):
    """Listener that pauses reading while `prefetch` received requests have not started.

    It has no thread: the process's receiver calls `offer`, and executor threads start the requests.
    """

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
        """Whether the queues should be read."""
        return self._serving and not self._full

    def unacknowledged_tags(self) -> list[str]:
        """Return the delivery tags of received requests that have not started."""
        with self._lock:
            return list(self._unacknowledged)

    def start(self, on_incoming_callback: Callable[[list[Any]], None]) -> None:
        super().start(on_incoming_callback)
        self._serving = True
        self._on_change()

    def stop(self) -> None:
        """Stop receiving; on return nothing more can be offered. Earlier requests may still start."""
        self._serving = False
        self._on_stop(self)
        super().stop()

    def cleanup(self) -> None:
        """Requeue requests that never started; oslo.messaging calls this after the executor has ended."""
        for tag in self.unacknowledged_tags():
            self._requeue(tag)

    def offer(self, delivery: Delivery) -> None:
        """Pass a request to the server, or requeue it if the server is stopping."""
        if delivery.tag is not None:
            with self._lock:
                self._unacknowledged.add(delivery.tag)
                self._full = len(self._unacknowledged) >= self._prefetch
        incoming = BusIncoming(delivery, self._outbox, self._begin)
        try:
            if not self._serving or self.on_incoming_callback is None:
                raise RuntimeError("the server has stopped")
            self.on_incoming_callback([incoming])
        except RuntimeError as error:  # an executor after shutdown accepts no work
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
        except Exception:  # the visibility timeout requeues it later anyway
            LOG.warning("%s could not requeue a message; it will be redelivered", self.listen_target.label)

    def _release(self, tag: str | None) -> None:
        with self._lock:
            self._unacknowledged.discard(tag or "")
            # Reopen at half, not at the first free slot: each change makes the receiver restart its read.
            reopen = self._full and len(self._unacknowledged) <= self._prefetch // 2
            if reopen:
                self._full = False
        if reopen:
            self._on_change()
