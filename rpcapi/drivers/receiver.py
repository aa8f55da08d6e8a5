# SPDX-License-Identifier: Apache-2.0
"""Receiving: one thread and one blocking read per process, however many RPC servers it runs."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from oslo_messaging import exceptions

from rpcapi.drivers import names, transport, wire
from rpcapi.drivers.address import Address
from rpcapi.drivers.backoff import Backoff
from rpcapi.drivers.errors import BusRefused, MessageForeign
from rpcapi.drivers.incoming import Delivery
from rpcapi.drivers.listener import BusListener
from rpcapi.drivers.outbox import Outbox

LOG = logging.getLogger(__name__)

# Seconds without a message after which the receiver looks at the clock.
TURN = 1.0


class Receiver:
    """Reads the process's inbox and the queues of its listeners.

    What to read is a wish that any thread may change; the receiver's own thread makes it so between two
    reads, and all over again after every new connection.
    """

    def __init__(
        self,
        address: Address,
        limits: transport.Limits,
        backoff: Backoff,
        outbox: Outbox,
        *,
        reply_ttl: int,
        on_reply: Callable[[wire.Reply], None],
    ) -> None:
        self.inbox = names.inbox(wire.new_id())
        self._address = address
        self._limits = limits
        self._backoff = backoff
        self._outbox = outbox
        self._reply_ttl = reply_ttl
        self._on_reply = on_reply
        self._keep_every = min(limits.visibility_timeout, reply_ttl) / 3
        self._keep_at = 0.0
        self._condition = threading.Condition()
        self._listeners: list[BusListener] = []
        self._wish = 0
        self._granted = -1
        self._reading: set[str] = set()
        self._by_queue: dict[str, BusListener] = {}
        self._connection: Any = None
        self._channel: transport.BusChannel | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, once; it is not there before a process first calls or listens."""
        with self._condition:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gantt-bus", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Receive no more and close the connection."""
        self._stopping.set()
        if self._thread is not None:
            self.changed()
            self._thread.join()

    def changed(self) -> None:
        """Look again at which queues to read, without waiting for the current read to end by itself."""
        with self._condition:
            self._wish += 1
        try:
            self._outbox.wake(self.inbox, self._reply_ttl)
        except transport.AWAY:
            LOG.debug("The bus is away; the receiver looks again when it returns")

    def add(self, listener: BusListener) -> None:
        """Read for this listener from now on. Requests fanned out after this returned will reach it.

        :raises BusRefused: when Redis is there, but does not let this process in
        """
        with self._condition:
            self._listeners.append(listener)
        try:
            fanouts = [listener.place.fanout]
            self._outbox.retry(lambda: self._outbox.join(fanouts, self.inbox, self._reply_ttl), time.monotonic())
        except exceptions.MessageDeliveryFailure:
            LOG.warning("The bus is away at %s; %s listens when it returns", self._address, listener.place.label)
        except BusRefused:
            with self._condition:
                self._listeners.remove(listener)
            raise
        self.start()

    def remove(self, listener: BusListener) -> None:
        """Read no more for this listener; returns when nothing can reach it any more."""
        with self._condition:
            self._listeners.remove(listener)
            last = all(other.place.fanout != listener.place.fanout for other in self._listeners)
        if last:
            try:
                self._outbox.leave(listener.place.fanout, self.inbox)
            except transport.AWAY:
                LOG.debug("The bus is away; it forgets the fan-out of %s by itself", listener.place.label)
        self.changed()
        with self._condition:
            wish = self._wish
            self._condition.wait_for(
                # Without a connection nothing is read at all.
                lambda: self._granted >= wish or self._channel is None,
                self._limits.socket_timeout * 2,
            )

    def _run(self) -> None:
        pauses = self._backoff.pauses()
        while not self._stopping.is_set():
            try:
                self._turn()
                pauses = self._backoff.pauses()
            except transport.AWAY as error:
                pause = next(pauses)
                LOG.warning("The bus is away at %s (%s); trying again in %.1f s", self._address, error, pause)
                self._disconnect()
                self._stopping.wait(pause)
            except Exception:  # one bad message or reply of Redis must not deafen the process
                LOG.exception("The bus's receiver failed at %s and begins anew", self._address)
                self._disconnect()
                self._stopping.wait(next(pauses))
        if self._connection is not None:
            self._connection.release()

    def _turn(self) -> None:
        channel = self._channel or self._connect()
        if not channel.reading():
            self._grant(channel)
        if time.monotonic() >= self._keep_at:
            self._keep(channel)
        try:
            self._connection.drain_events(timeout=TURN)
        except TimeoutError:
            LOG.debug("Nothing on the bus for %.0f s", TURN)

    def _connect(self) -> transport.BusChannel:
        self._connection, channel = transport.connect(self._address, self._limits)
        self._reading, self._granted, self._keep_at = set(), -1, 0.0
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
        except transport.AWAY:
            LOG.debug("The lost connection to the bus could not be closed in order")

    def _grant(self, channel: transport.BusChannel) -> None:
        """Read exactly the queues that are wished for."""
        with self._condition:
            wish = self._wish
            if self._granted == wish:
                return
            listeners = list(self._listeners)
        self._by_queue = {queue: each for each in listeners if each.open for queue in each.place.queues()}
        wanted = {self.inbox, *self._by_queue}
        for queue in self._reading - wanted:
            channel.basic_cancel(queue)
        for queue in wanted - self._reading:
            channel.basic_consume(queue, no_ack=True, callback=self._receive, consumer_tag=queue)
        self._reading = wanted
        with self._condition:
            self._granted = wish
            self._condition.notify_all()

    def _keep(self, channel: transport.BusChannel) -> None:
        """Renew what this process holds and where it takes part, and put back what the dead held."""
        with self._condition:
            listeners = list(self._listeners)
        if fanouts := {each.place.fanout for each in listeners}:
            self._outbox.join(fanouts, self.inbox, self._reply_ttl)
        if held := [tag for each in listeners for tag in each.held()]:
            channel.renew(held)
        channel.restore_abandoned()
        channel.ring(sorted(self._by_queue))
        self._keep_at = time.monotonic() + self._keep_every

    def _receive(self, message: Any) -> None:
        queue = message.delivery_info["routing_key"]
        try:
            body = wire.decode(message)
        except MessageForeign as error:
            LOG.warning("%s", error)
            if queue != self.inbox:
                self._outbox.take(message.delivery_tag)
            return
        if isinstance(body, wire.Reply):
            self._on_reply(body)
        elif body.fanout is not None:
            self._spread(body)
        else:
            self._hand_over(queue, body, message)

    def _spread(self, request: wire.Request) -> None:
        with self._condition:
            listeners = [each for each in self._listeners if each.place.fanout == request.fanout]
        for listener in listeners:
            listener.offer(Delivery(request))

    def _hand_over(self, queue: str, request: wire.Request, message: Any) -> None:
        listener = self._by_queue.get(queue)
        if listener is None:
            self._outbox.requeue(message.delivery_tag)
        elif request.expired():
            LOG.info("Message %s to %s outlived its deadline and is dropped", request.id, listener.place.label)
            self._outbox.take(message.delivery_tag)
        else:
            listener.offer(Delivery(request, message.delivery_tag))
            if not listener.open:
                with self._condition:
                    self._wish += 1
