# SPDX-License-Identifier: Apache-2.0
"""The `gantt+redis` driver of oslo.messaging: RPC over kombu's Redis transport.

Topic and server requests wait in lists, and are recorded as received until a server begins them. Answers and
fanned-out requests go to one list per process, its inbox. Whatever a dead process leaves behind expires.
Redis decides what outlives its own restart: with the bus's server, which keeps nothing on disk, what was
queued at that moment is gone, and callers time out.
"""

import logging
import time
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging import Target, TransportURL
from oslo_messaging._drivers import base
from oslo_messaging.server import ServerListenError

from rpcapi.drivers import address, errors, names, opts, scripts, transport, wire
from rpcapi.drivers.backoff import Backoff
from rpcapi.drivers.incoming import ReplyLimits
from rpcapi.drivers.listener import BusListener, Place
from rpcapi.drivers.outbox import Outbox
from rpcapi.drivers.receiver import Receiver
from rpcapi.drivers.replies import Replies

LOG = logging.getLogger(__name__)


class RedisBusDriver(base.BaseDriver):
    """RPC over one Redis server; one instance per transport, for any number of clients and servers."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        url: TransportURL,
        default_exchange: str | None = None,
        allowed_remote_exmods: list[str] | None = None,
    ) -> None:
        """Read the options and scripts; nothing connects before the first message or listener.

        :raises rpcapi.errors.BadConfiguration: when the URL does not name one Redis server
        :raises BusInstallationError: when a script is missing
        """
        super().__init__(conf, url, default_exchange, allowed_remote_exmods)
        opts.register_opts(conf)
        scripts.load()
        options = conf.gantt_bus
        self.prefetch_size = options.prefetch
        self._request_ttl = options.request_ttl
        self._send_timeout = options.send_timeout
        self._reply_limits = ReplyLimits(options.reply_ttl, options.send_timeout)
        where = address.parse(str(url))
        backoff = Backoff(options.reconnect_backoff, options.reconnect_backoff_max)
        limits = transport.Limits(
            socket_timeout=options.socket_timeout,
            visibility_timeout=options.visibility_timeout,
            queue_ttl=options.request_ttl,
            connections=options.max_connections,
        )
        self._outbox = Outbox(where, limits, backoff, options.max_message_bytes)
        self._replies = Replies([*(allowed_remote_exmods or []), *errors.REMOTE_EXMODS])
        self._receiver = Receiver(
            where, limits, backoff, self._outbox, reply_ttl=options.reply_ttl, on_reply=self._replies.deliver
        )

    def require_features(self, requeue: bool = False) -> None:
        """Every feature is there."""

    def send(
        self,
        target: Target,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        *,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        call_monitor_timeout: float | None = None,
        retry: int | None = None,
        transport_options: Any = None,
    ) -> Any:
        """Call when `wait_for_reply`, else cast. `retry` 0 tries a cast once; other values are left to
        `[gantt_bus] send_timeout`.

        :raises oslo_messaging.MessagingTimeout: no answer to a call in time, or no bus to send it over
        :raises oslo_messaging.MessageDeliveryFailure: no bus to send a cast over
        :raises BusError: refused, or too large
        """
        if wait_for_reply:
            return self._call(target, ctxt, message, timeout, call_monitor_timeout)
        self._cast(target, ctxt, message, 0 if retry == 0 else self._send_timeout)
        return None

    def _call(
        self,
        target: Target,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        timeout: float | None,
        monitor: float | None,
    ) -> Any:
        waited = self._request_ttl if timeout is None else timeout
        if monitor is not None and monitor >= waited:
            monitor = None
        # A server that has not begun within the monitor's time finds nobody waiting any more.
        request = wire.Request(
            ctxt=ctxt,
            message=message,
            expires_at=time.time() + min(waited, monitor or waited),
            reply_to=self._receiver.inbox,
            monitor=monitor,
        )
        deadline = time.monotonic() + waited
        what = f"{message.get('method')} on {target.topic}"
        self._receiver.start()
        with self._replies.expected(request.id) as arrivals:
            try:
                self._outbox.send(self._queue(target), request, self._request_ttl, deadline)
            except oslo_messaging.MessageDeliveryFailure as error:
                raise oslo_messaging.MessagingTimeout(f"{what}: not sent in time. {error}") from error
            return self._replies.wait(arrivals, what, deadline, monitor)

    def _cast(self, target: Target, ctxt: dict[str, Any], message: dict[str, Any], tries: float) -> None:
        deadline = time.monotonic() + tries
        expires_at = time.time() + self._request_ttl
        if not target.fanout:
            request = wire.Request(ctxt, message, expires_at)
            self._outbox.send(self._queue(target), request, self._request_ttl, deadline)
            return
        ttl = self._reply_limits.ttl
        fanout = names.fanout_members(self._exchange(target), target.topic)
        request = wire.Request(ctxt, message, expires_at, fanout=fanout)
        for inbox in self._outbox.retry(lambda: self._outbox.members(fanout, ttl), deadline):
            self._outbox.send(inbox, request, ttl, deadline, direct=True)

    def listen(self, target: Target, batch_size: int, batch_timeout: float | None) -> BusListener:
        """Listen for an RPC server: to its topic, to its own name, and to what is fanned out.

        When Redis is away, listening begins when it returns.

        :raises oslo_messaging.server.ServerListenError: when Redis is there, but does not let this process in
        """
        listener = BusListener(
            Place.of(target, self._exchange(target)),
            self._outbox,
            self._reply_limits,
            prefetch=self.prefetch_size,
            changed=self._receiver.changed,
            leave=self._receiver.remove,
        )
        try:
            self._receiver.add(listener)
        except errors.BusRefused as error:
            # Raised by oslo.messaging itself for driver errors, were its attempt not broken.
            raise ServerListenError(target, error) from error
        return listener

    def send_notification(
        self, target: Target, ctxt: Any, message: Any, version: float, retry: int | None = None
    ) -> None:
        """:raises NotificationsUnsupported: always"""
        raise errors.NotificationsUnsupported(
            "The embedded bus carries RPC only. Point [oslo_messaging_notifications] transport_url at RabbitMQ, "
            "or set its driver to noop."
        )

    def listen_for_notifications(
        self, targets_and_priorities: Any, pool: Any, batch_size: int, batch_timeout: float | None
    ) -> BusListener:
        """:raises NotificationsUnsupported: always"""
        raise errors.NotificationsUnsupported("The embedded bus carries RPC only: nothing notifies over it.")

    def cleanup(self) -> None:
        """Stop receiving and close every connection."""
        self._receiver.stop()
        self._outbox.close()

    def _exchange(self, target: Target) -> str:
        return target.exchange or self._default_exchange or "gantt"

    def _queue(self, target: Target) -> str:
        exchange = self._exchange(target)
        if target.server:
            return names.server_queue(exchange, target.topic, target.server)
        return names.topic_queue(exchange, target.topic)
