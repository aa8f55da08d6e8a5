# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging driver `gantt+redis`: RPC over a Redis server.

Requests wait in lists, and stay recorded as received until a server starts them. Replies and fan-out requests go to
inboxes of processes. The server stores nothing on disk: a restart loses queued messages, and callers time out.
"""

import functools
import logging
import time
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_messaging import Target, TransportURL
from oslo_messaging.server import ServerListenError

from rpcapi.access.senders import SenderDirectory
from rpcapi.conf import register_groups, transport
from rpcapi.conf import rpc as rpc_conf
from rpcapi.messaging.drivers import dead_letters, errors, opts, redis_keys, wire
from rpcapi.messaging.drivers.listen_target import ListenTarget
from rpcapi.messaging.drivers.listener import BusListener
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.drivers.receiver import Receiver
from rpcapi.messaging.drivers.redis_channel import BusChannel, BusLimits
from rpcapi.messaging.drivers.replies import PendingReplies
from rpcapi.messaging.private import BaseDriver

LOG = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0


class RedisBusDriver(BaseDriver):
    def __init__(
        self,
        conf: cfg.ConfigOpts,
        url: TransportURL,
        default_exchange: str | None = None,
        allowed_remote_exmods: list[str] | None = None,
    ) -> None:
        """Connects on first use. Raises BadConfiguration unless the URL names one Redis server."""
        super().__init__(conf, url, default_exchange, allowed_remote_exmods)
        opts.register_opts(conf)
        register_groups(conf, rpc_conf)
        address = transport.parse_redis_url(str(url))
        messages = {name: conf.rpc[name] for name in ("max_queue_length", "max_message_bytes")}
        self._limits = BusLimits(**conf.gantt_bus, **messages)
        self._outbox = Outbox(BusChannel(address, self._limits))
        self._replies = PendingReplies(allowed_remote_exmods or [])
        self._receiver = Receiver(BusChannel(address, self._limits), self._outbox, self._replies.deliver)

    @functools.cached_property
    def senders(self) -> SenderDirectory:
        return SenderDirectory.of_patterns(self.conf.rpc.shared_agent_hosts)

    def connect(self) -> None:
        self._outbox.retry(self._outbox.channel.client.ping, time.monotonic() + CONNECT_SECONDS)

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
        """Call if `wait_for_reply`, otherwise cast; `retry` 0 tries a cast once.

        Raises MessagingTimeout for a call, MessageDeliveryFailure for a cast, or BusError if the bus refuses the
        message.
        """
        if wait_for_reply:
            return self._call(target, ctxt, message, timeout, call_monitor_timeout)
        self._cast(target, ctxt, message, 0 if retry == 0 else self._outbox.send_timeout)
        return None

    def _call(
        self,
        target: Target,
        ctxt: dict[str, Any],
        message: dict[str, Any],
        timeout: float | None,
        monitor: float | None,
    ) -> Any:
        wait_seconds = self._limits.request_ttl if timeout is None else timeout
        if monitor is not None and monitor >= wait_seconds:
            monitor = None
        # Without a heartbeat the caller stops waiting after the monitor timeout, so its request expires then.
        request = wire.WireRequest(
            ctxt=ctxt,
            message=message,
            expires_at=time.time() + min(wait_seconds, monitor or wait_seconds),
            reply_to=self._receiver.reply_to,
            monitor=monitor,
        )
        deadline = time.monotonic() + wait_seconds
        description = f"{message.get('method')} on {target.topic}"
        self._receiver.start()
        is_responder = self.senders.responder_check(target.topic, target.server)
        with self._replies.register(request.id, is_responder) as reply_queue:
            try:
                self._send(target, request, deadline)
            except oslo_messaging.MessageDeliveryFailure as error:
                raise oslo_messaging.MessagingTimeout(f"{description}: not sent in time. {error}") from error
            return self._replies.wait(reply_queue, description, deadline, monitor)

    def _cast(self, target: Target, ctxt: dict[str, Any], message: dict[str, Any], retry_seconds: float) -> None:
        deadline = time.monotonic() + retry_seconds
        expires_at = time.time() + self._limits.request_ttl
        if not target.fanout:
            request = wire.WireRequest(ctxt, message, expires_at)
            self._send(target, request, deadline)
            return
        fanout = redis_keys.fanout_members(self._exchange(target), target.topic)
        request = wire.WireRequest(ctxt, message, expires_at, fanout=fanout)
        for process in self._outbox.retry(lambda: self._outbox.members(fanout), deadline):
            try:
                self._outbox.send(redis_keys.inbox(self._outbox.user, process), request, deadline)
            except errors.QueueFull as error:
                LOG.warning("Fan-out of %s dropped for a process that stopped reading: %s", target.topic, error)

    def listen(self, target: Target, batch_size: int, batch_timeout: float | None) -> BusListener:
        """Listen for a server, even while Redis is unreachable. Raises ServerListenError if Redis denies access."""
        listener = BusListener(
            ListenTarget.of(target, self._exchange(target)),
            self._outbox,
            prefetch=self._limits.prefetch,
            on_change=self._receiver.refresh_subscriptions,
            on_stop=self._receiver.remove,
        )
        try:
            self._receiver.add(listener)
        except errors.BusRefused as error:
            # oslo.messaging should convert driver errors itself, but its code for that is broken.
            raise ServerListenError(target, error) from error
        return listener

    def dead_letters(self) -> list[dead_letters.DeadLetter]:
        """Return dead letters, newest first; an operator gets all users' letters."""
        return self._outbox.retry(self._outbox.dead_letters, time.monotonic())

    def waiting_messages(self) -> dict[str, int]:
        topics = self._receiver.queue_topics()
        waiting = dict.fromkeys(topics.values(), 0)
        queues = list(topics)
        lengths = self._outbox.retry(lambda: self._outbox.channel.lengths(queues), time.monotonic()) if queues else []
        for topic, length in zip(topics.values(), lengths, strict=True):
            waiting[topic] += length
        return waiting

    def send_notification(
        self, target: Target, ctxt: Any, message: Any, version: float, retry: int | None = None
    ) -> None:
        raise errors.NotificationsUnsupported(
            "The embedded bus carries RPC only. Point [oslo_messaging_notifications] transport_url at RabbitMQ, "
            "or set its driver to noop."
        )

    def listen_for_notifications(
        self, targets_and_priorities: Any, pool: Any, batch_size: int, batch_timeout: float | None
    ) -> BusListener:
        raise errors.NotificationsUnsupported("The embedded bus carries RPC only, no notifications.")

    def cleanup(self) -> None:
        self._receiver.stop()
        self._outbox.channel.close()

    def _exchange(self, target: Target) -> str:
        return target.exchange or self._default_exchange or "gantt"

    def _send(self, target: Target, request: wire.WireRequest, deadline: float) -> None:
        user, exchange, topic, server = self._outbox.user, self._exchange(target), target.topic, target.server
        if server:
            queue = redis_keys.server_queue(user, exchange, topic, server)
            process_key = redis_keys.server_process(exchange, topic, server)
            self._outbox.send(queue, request, deadline, process_key)
        else:
            self._outbox.send(redis_keys.topic_queue(user, exchange, topic), request, deadline)
