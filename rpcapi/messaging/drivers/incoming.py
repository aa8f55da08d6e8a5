# SPDX-License-Identifier: Apache-2.0
"""Received request in the form that oslo.messaging's RPC server expects."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oslo_messaging import exceptions

from rpcapi.context import SENDER_KEY
from rpcapi.messaging.drivers import names, wire
from rpcapi.messaging.drivers.errors import BusError, MessageTooLarge
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.private import RpcIncomingMessage, serialize_remote_exception

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Delivery:
    """A request, its authenticated sender, and the delivery tag to acknowledge.

    Fan-out requests have no tag; reading removes them.
    """

    request: wire.WireRequest
    sender: str
    tag: str | None = None


class BusIncoming(RpcIncomingMessage):
    """Request that the server acknowledges, runs and answers in an executor thread."""

    def __init__(self, delivery: Delivery, outbox: Outbox, on_begin: Callable[[Delivery], None]) -> None:
        request = delivery.request
        # A sender named in the body is ignored.
        ctxt = {**request.ctxt, SENDER_KEY: delivery.sender} if isinstance(request.ctxt, dict) else request.ctxt
        super().__init__(ctxt, request.message, request.id)
        self.client_timeout = request.monitor
        self._delivery = delivery
        self._outbox = outbox
        self._on_begin = on_begin

    def acknowledge(self) -> None:
        """Acknowledge the message just before it runs; an exception makes oslo.messaging skip it.

        :raises MessageExpired, ClaimedElsewhere, oslo_messaging.MessagingException: the message must not run here
        """
        self._on_begin(self._delivery)

    def requeue(self) -> None:
        """Do nothing: only notification servers call it."""

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        """Send the reply, or a failure if the reply cannot be serialized.

        :raises MessageTooLarge: nothing was sent
        """
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
        """Tell the caller that its call is still running.

        :raises oslo_messaging.MessageDeliveryFailure: the bus is unreachable
        """
        reply_to = self._reply_inbox()
        if reply_to is not None:
            heartbeat_reply = wire.WireReply(self.msg_id, ending=False)
            self._outbox.send(reply_to, heartbeat_reply, time.monotonic() + (self.client_timeout or 0))

    def _reply_inbox(self) -> str | None:
        """Return the reply inbox, always one of the authenticated sender."""
        reply_to = self._delivery.request.reply_to
        return reply_to and names.inbox(self._outbox.user, names.process(self._delivery.sender, reply_to))

    def _send(self, reply_to: str, reply: wire.WireReply) -> None:
        try:
            self._outbox.send(reply_to, reply, time.monotonic() + self._outbox.send_timeout)
        except MessageTooLarge:
            raise
        except (BusError, exceptions.MessageDeliveryFailure) as error:
            LOG.error("Lost the reply to %s, its caller will time out: %s", self.msg_id, error)
