# SPDX-License-Identifier: Apache-2.0
"""One RPC server's end of the bus: what it received and has not begun yet."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_messaging import Target
from oslo_messaging._drivers import base

from rpcapi.drivers import names
from rpcapi.drivers.errors import ClaimedElsewhere, MessageExpired
from rpcapi.drivers.incoming import BusIncoming, Delivery, ReplyLimits
from rpcapi.drivers.outbox import Outbox
from rpcapi.drivers.recent import Recent

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Place:
    """Where a server listens: its two queues, its fan-out, and its name in logs."""

    topic_queue: str
    server_queue: str
    fanout: str
    label: str

    @classmethod
    def of(cls, target: Target, exchange: str) -> "Place":
        return cls(
            names.topic_queue(exchange, target.topic),
            names.server_queue(exchange, target.topic, target.server),
            names.fanout_members(exchange, target.topic),
            f"{target.topic}.{target.server}",
        )

    def queues(self) -> tuple[str, str]:
        """The lists that this server reads."""
        return (self.topic_queue, self.server_queue)


class BusListener(base.Listener):
    """Hands requests to an RPC server, and stops asking for more while it holds `prefetch` of them unbegun.

    It has no thread: the process's one receiver calls `offer`, and executor threads begin what was offered.
    """

    def __init__(
        self,
        place: Place,
        outbox: Outbox,
        limits: ReplyLimits,
        *,
        prefetch: int,
        changed: Callable[[], None],
        leave: Callable[["BusListener"], None],
    ) -> None:
        super().__init__(1, None, prefetch)
        self.place = place
        self._outbox = outbox
        self._limits = limits
        self._prefetch = prefetch
        self._changed = changed
        self._leave = leave
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._serving = False
        self._full = False
        self._recent = Recent()

    @property
    def open(self) -> bool:
        """Whether the queues should be read."""
        return self._serving and not self._full

    def held(self) -> list[str]:
        """Tags of what was received and not yet begun."""
        with self._lock:
            return list(self._held)

    def start(self, on_incoming_callback: Callable[[list[Any]], None]) -> None:
        super().start(on_incoming_callback)
        self._serving = True
        self._changed()

    def stop(self) -> None:
        """Receive no more; returns when nothing more can be offered. What was offered may still begin."""
        self._serving = False
        self._leave(self)
        super().stop()

    def cleanup(self) -> None:
        """Give back what never began: oslo.messaging calls this when the server's executor has ended."""
        for tag in self.held():
            self._put_back(tag)

    def offer(self, delivery: Delivery) -> None:
        """Pass a request to the server, or put it back when the server is stopping."""
        if delivery.tag is not None:
            with self._lock:
                self._held.add(delivery.tag)
                self._full = len(self._held) >= self._prefetch
        incoming = BusIncoming(delivery, self._outbox, self._limits, self._begin)
        try:
            if not self._serving or self.on_incoming_callback is None:
                raise RuntimeError("the server has stopped")
            self.on_incoming_callback([incoming])
        except RuntimeError as error:  # an executor that was shut down takes no more
            LOG.info("%s gives message %s back: %s", self.place.label, delivery.request.id, error)
            if delivery.tag is not None:
                self._put_back(delivery.tag)

    def _begin(self, delivery: Delivery) -> None:
        request = delivery.request
        try:
            taken = delivery.tag is None or self._outbox.take(delivery.tag)
        finally:
            self._release(delivery.tag)
        if not taken:
            raise ClaimedElsewhere(f"Message {request.id} was given to another server of {self.place.label}.")
        if request.expired():
            raise MessageExpired(f"Message {request.id} outlived its deadline before {self.place.label} began it.")
        if not self._recent.first(request.id):
            raise ClaimedElsewhere(f"Message {request.id} was sent twice, {self.place.label} ran it already.")

    def _put_back(self, tag: str) -> None:
        self._release(tag)
        try:
            self._outbox.requeue(tag)
        except Exception:  # whatever keeps Redis from it, the visibility timeout does it later
            LOG.warning("%s could not put a message back; it is redelivered later", self.place.label)

    def _release(self, tag: str | None) -> None:
        with self._lock:
            self._held.discard(tag or "")
            # Not at the first free place: each change makes the receiver begin its read anew.
            reopen = self._full and len(self._held) <= self._prefetch // 2
            if reopen:
                self._full = False
        if reopen:
            self._changed()
